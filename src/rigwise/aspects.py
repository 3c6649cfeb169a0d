"""The facts by which two looks at machines are compared, each with its key, name and unit. Pure; must not judge.

A fact is compared as it is shown: RAM that differs by a page is equal RAM.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from rigwise.records.difference import Kind
from rigwise.records.gpu import Gpu, NvLink
from rigwise.records.identity import Fact
from rigwise.records.reading import Reading
from rigwise.records.rig import Rig
from rigwise.speech import say
from rigwise.units import memory

Of = TypeVar("Of")


def as_it_is(value: Fact) -> Fact:
    """The value itself, which JSON can hold."""
    return value


@dataclass(frozen=True, slots=True)
class Aspect(Generic[Of]):
    """One fact of a rig or a GPU."""

    key: str
    what: str
    kind: Kind
    read: Callable[[Of], Reading[Any]]
    fact: Callable[[Any], Fact] = as_it_is
    """The value as JSON holds it."""
    shown: Callable[[Any], str] = str
    """The fact as people read it, with its unit."""

    def words(self, before: Fact, after: Fact) -> str:
        """Both as people read them."""
        return f"{self.shown(before)} -> {self.shown(after)}"

    def of(self, owner: Of) -> Fact:
        """The fact; None where the evidence does not tell."""
        value = self.read(owner).value
        return None if value is None else self.fact(value)


def watts(value: float) -> str:
    """A power in watts.

    >>> watts(450.0)
    '450 W'
    """
    return f"{value:.4g} W"


def mhz(value: float) -> str:
    """A clock in MHz.

    >>> mhz(2520)
    '2520 MHz'
    """
    return f"{value} MHz"


def dotted(version: tuple[int, int]) -> str:
    """A version as people write it.

    >>> dotted((12, 8))
    '12.8'
    """
    return ".".join(map(str, version))


def limit(value: float) -> Fact:
    """A limit; JSON has no infinity.

    >>> limit(4.0), limit(float("inf"))
    (4.0, 'none')
    """
    return value if math.isfinite(value) else say("none")


def num_active(links: Iterable[NvLink]) -> int:
    """How many of the NVLinks are up."""
    return sum(link.active for link in links)


RIG_ASPECTS: tuple[Aspect[Rig], ...] = (
    Aspect("driver", say("driver"), Kind.STACK, lambda rig: rig.driver_version),
    Aspect("kernel_module", say("kernel module of the driver"), Kind.STACK, lambda rig: rig.kernel_driver_version),
    Aspect("cuda", say("CUDA of the driver"), Kind.STACK, lambda rig: rig.cuda_driver_version, dotted),
    Aspect("kernel", say("kernel"), Kind.STACK, lambda rig: rig.host.kernel),
    Aspect("os", say("operating system"), Kind.STACK, lambda rig: rig.host.os_name),
    Aspect("bios", say("board and BIOS"), Kind.STACK, lambda rig: rig.firmware),
    Aspect("python", say("Python"), Kind.STACK, lambda rig: rig.interpreter, lambda python: python.version),
    Aspect("open_module", say("open kernel module"), Kind.SETTING, lambda rig: rig.stack.open_module),
    Aspect("nvcc", say("nvcc"), Kind.STACK, lambda rig: rig.stack.nvcc_version),
    Aspect("toolkits", say("CUDA toolkits"), Kind.STACK, lambda rig: rig.stack.toolkits, ", ".join),
    Aspect("container_engine", say("container engine"), Kind.STACK, lambda rig: rig.container_engine.version),
    Aspect("container_toolkit", say("container toolkit"), Kind.STACK, lambda rig: rig.container_engine.toolkit_version),
    Aspect("default_runtime", say("container runtime"), Kind.SETTING, lambda rig: rig.container_engine.default_runtime),
    Aspect("container", say("container"), Kind.SETTING, lambda rig: rig.host.container),
    Aspect("secure_boot", say("Secure Boot"), Kind.SETTING, lambda rig: rig.host.secure_boot),
    Aspect("governor", say("CPU frequency governor"), Kind.SETTING, lambda rig: rig.cpu.governor),
    Aspect("cpu_limit", say("CPU limit"), Kind.SETTING, lambda rig: rig.cpu.quota_cpus, limit),
    Aspect("shm_size_bytes", say("/dev/shm"), Kind.SETTING, lambda rig: rig.memory.shared_memory_bytes, shown=memory),
    Aspect("num_cpus", say("CPUs"), Kind.STACK, lambda rig: rig.host.num_cpus),
    Aspect("ram_total_bytes", say("RAM"), Kind.STACK, lambda rig: rig.host.ram_total_bytes, shown=memory),
    Aspect("swap_total_bytes", say("swap"), Kind.SETTING, lambda rig: rig.host.swap_total_bytes, shown=memory),
)
"""Of the whole machine."""

UUID: Aspect[Gpu] = Aspect("uuid", say("UUID"), Kind.GPU, lambda gpu: gpu.uuid)
NAME: Aspect[Gpu] = Aspect("name", say("name"), Kind.GPU, lambda gpu: gpu.name)
SLOT: Aspect[Gpu] = Aspect("pci_bus_id", say("PCI address"), Kind.SETTING, lambda gpu: gpu.pci_bus_id)

GPU_ASPECTS: tuple[Aspect[Gpu], ...] = (
    UUID,
    NAME,
    SLOT,
    Aspect("memory_total_bytes", say("VRAM"), Kind.STACK, lambda gpu: gpu.memory_total_bytes, shown=memory),
    Aspect("vbios", say("VBIOS"), Kind.STACK, lambda gpu: gpu.vbios),
    Aspect("gsp_firmware", say("GSP firmware"), Kind.STACK, lambda gpu: gpu.gsp_firmware),
    Aspect("mig", say("MIG mode"), Kind.SETTING, lambda gpu: gpu.mig_enabled),
    Aspect("ecc", say("ECC mode"), Kind.SETTING, lambda gpu: gpu.memory_errors.ecc_enabled),
    Aspect("persistence_mode", say("persistence mode"), Kind.SETTING, lambda gpu: gpu.persistence_mode),
    Aspect("compute_mode", say("compute mode"), Kind.SETTING, lambda gpu: gpu.compute_mode),
    Aspect("driver_model", say("driver model"), Kind.SETTING, lambda gpu: gpu.driver_model),
    Aspect("virtualization", say("virtualization mode"), Kind.SETTING, lambda gpu: gpu.virtualization_mode),
    Aspect(
        "power_limit_enforced_watts",
        say("power limit"),
        Kind.SETTING,
        lambda gpu: gpu.power_limit_enforced_watts,
        shown=watts,
    ),
    Aspect(
        "power_limit_default_watts",
        say("default power limit"),
        Kind.STACK,
        lambda gpu: gpu.power_limit_default_watts,
        shown=watts,
    ),
    Aspect("sm_clock_max_mhz", say("highest SM clock"), Kind.SETTING, lambda gpu: gpu.sm_clock_max_mhz, shown=mhz),
    Aspect("pcie_link_gen_max", say("highest PCIe generation"), Kind.SETTING, lambda gpu: gpu.pcie_link_gen_max),
    Aspect("pcie_link_width_max", say("highest PCIe width"), Kind.SETTING, lambda gpu: gpu.pcie_link_width_max),
)
"""Of one GPU; what it is."""

GPU_STATES: tuple[Aspect[Gpu], ...] = (
    Aspect("pcie_link_width", say("PCIe width"), Kind.SETTING, lambda gpu: gpu.pcie_link_width),
    Aspect("recovery_action", say("recovery action"), Kind.COUNTER, lambda gpu: gpu.recovery_action),
    Aspect("fabric_state", say("fabric state"), Kind.COUNTER, lambda gpu: gpu.fabric_state),
    Aspect("nvlinks_active", say("active NVLinks"), Kind.COUNTER, lambda gpu: gpu.nvlinks, num_active),
    Aspect(
        "ecc_uncorrected",
        say("uncorrected ECC errors of the card's life"),
        Kind.COUNTER,
        lambda gpu: gpu.memory_errors.uncorrected_aggregate,
    ),
    Aspect(
        "remapped_rows_uncorrected",
        say("rows remapped after uncorrected errors"),
        Kind.COUNTER,
        lambda gpu: gpu.memory_errors.remapped_rows_uncorrected,
    ),
    Aspect(
        "row_remap_pending", say("pending row remap"), Kind.COUNTER, lambda gpu: gpu.memory_errors.row_remap_pending
    ),
    Aspect("row_remap_failure", say("failed row remap"), Kind.COUNTER, lambda gpu: gpu.memory_errors.row_remap_failure),
    Aspect(
        "retired_pages_double_bit",
        say("pages retired for double-bit errors"),
        Kind.COUNTER,
        lambda gpu: gpu.memory_errors.retired_pages_double_bit,
    ),
    Aspect(
        "ecc_corrected",
        say("corrected ECC errors of the card's life"),
        Kind.MOMENT,
        lambda gpu: gpu.memory_errors.corrected_aggregate,
    ),
    Aspect("pcie_replays", say("PCIe replays"), Kind.MOMENT, lambda gpu: gpu.pcie_replays),
    Aspect("pcie_link_gen", say("PCIe generation now"), Kind.MOMENT, lambda gpu: gpu.pcie_link_gen),
    Aspect("sm_clock_mhz", say("SM clock now"), Kind.MOMENT, lambda gpu: gpu.sm_clock_mhz, shown=mhz),
    Aspect("memory_used_bytes", say("VRAM in use"), Kind.MOMENT, lambda gpu: gpu.memory_used_bytes, shown=memory),
)
"""Of one GPU; how it does."""
