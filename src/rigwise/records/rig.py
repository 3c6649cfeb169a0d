"""A machine at one moment, as typed readings. Built by `probes`, read by `checks` and `report`."""

from typing import Any

import msgspec

from rigwise.records.evidence import Quote, Status
from rigwise.records.reading import AbsentReading, Reading

NOT_ASKED: Reading[Any] = Reading("", None, Status.NOT_RECORDED, Quote("", ""))
"""For values that only some ways of reading a rig know about."""


class GpuProcess(msgspec.Struct, frozen=True, kw_only=True):
    """One process that holds VRAM, as the driver names it."""

    pid: int
    name: str
    """Process name, or "" where it could not be read (other container, other user)."""
    user: str
    used_bytes: int | None
    """None where the driver does not say (WDDM, MIG, some containers)."""
    kind: str
    """`compute` or `graphics`."""


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU. Identified by UUID; the index is for display."""

    index: int
    reachable: Reading[bool]
    """Whether NVML gave a handle; absent with status `lost` when the GPU is off the bus."""
    name: Reading[str]
    uuid: Reading[str]
    pci_bus_id: Reading[str]
    compute_capability: Reading[tuple[int, int]]
    memory_total_bytes: Reading[int]
    memory_used_bytes: Reading[int]
    memory_free_bytes: Reading[int]
    gpu_utilization_ratio: Reading[float]
    memory_utilization_ratio: Reading[float]
    temperature_celsius: Reading[int]
    temperature_slowdown_celsius: Reading[int]
    power_draw_watts: Reading[float]
    power_limit_enforced_watts: Reading[float]
    power_limit_default_watts: Reading[float]
    sm_clock_mhz: Reading[int]
    sm_clock_max_mhz: Reading[int]
    memory_clock_mhz: Reading[int]
    clocks_event_reasons: Reading[int]
    """Bit mask as NVML gives it; `knowledge` names the bits."""
    pcie_link_gen: Reading[int]
    pcie_link_gen_max: Reading[int]
    pcie_link_width: Reading[int]
    pcie_link_width_max: Reading[int]
    performance_state: Reading[int]
    mig_enabled: Reading[bool]
    processes: Reading[tuple[GpuProcess, ...]]
    driver_model: Reading[str] = NOT_ASKED
    """`WDDM` or `TCC` on Windows; absent on Linux."""

    @property
    def label(self) -> str:
        """`GPU 1 (NVIDIA GeForce RTX 4090, 0000:41:00.0)`, as far as it is known."""
        known = [reading.value for reading in (self.name, self.pci_bus_id) if reading.value]
        return f"GPU {self.index} ({', '.join(known)})" if known else f"GPU {self.index}"


class PciDevice(msgspec.Struct, frozen=True, kw_only=True):
    """One NVIDIA display device on the PCI bus, whether or not a driver claims it."""

    address: str
    """`41:00.0`"""
    device_id: str
    """`10de:2684`"""
    driver: str
    """Kernel driver bound to it (`nvidia`, `nouveau`, `vfio-pci`), or ""."""


class Framework(msgspec.Struct, frozen=True, kw_only=True):
    """One AI framework as the user's interpreter sees it."""

    name: str
    """`torch`, `tensorflow`, `jax`."""
    version: str
    cuda_build: str | None = None
    """CUDA version it was built for (`13.0`), None for a CPU-only build or when unknown."""
    cpu_only: bool | None = None
    """Whether the build has no CUDA at all; None when not determined."""
    arch_list: tuple[str, ...] = ()
    """Architectures compiled in (`sm_90`)."""
    cuda_available: bool | None = None
    device_count: int | None = None
    device_capabilities: tuple[tuple[int, int], ...] = ()
    kernel_ok: bool | None = None
    """Whether one real kernel ran on each visible GPU."""
    error: str = ""
    """First line of what it raised, in its own words."""


class Interpreter(msgspec.Struct, frozen=True, kw_only=True):
    """The user's Python and what it holds."""

    executable: str
    version: str
    cuda_visible_devices: str | None = None
    """The environment variable, None when unset."""
    frameworks: tuple[Framework, ...] = ()


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """The machine around the GPUs."""

    os_name: Reading[str]
    kernel: Reading[str]
    container: Reading[str]
    """`docker`, `podman`, `kubernetes`, `lxc` ...; "none" when the markers were read and say none."""
    wsl: Reading[bool]
    num_cpus: Reading[int]
    ram_total_bytes: Reading[int]
    ram_available_bytes: Reading[int]
    swap_total_bytes: Reading[int]
    swap_used_bytes: Reading[int]
    memory_pressure_ratio: Reading[float]
    """PSI `some avg60` of memory, 0 to 1: share of the last minute some task waited for memory."""
    loaded_modules: Reading[tuple[str, ...]]
    """Names in /proc/modules."""
    secure_boot: Reading[bool]


class Rig(msgspec.Struct, frozen=True, kw_only=True):
    """A whole machine: GPUs, driver, host, and the user's frameworks."""

    nvml: Reading[str]
    """NVML version when it initialised; absent with the return code when not."""
    num_gpus: Reading[int]
    """How many GPUs the driver counts; may exceed `len(gpus)` in a trimmed capture."""
    gpus: tuple[Gpu, ...]
    driver_version: Reading[str]
    cuda_driver_version: Reading[tuple[int, int]]
    """Highest CUDA the driver supports, as (major, minor)."""
    kernel_driver_version: Reading[str]
    """Version of the loaded kernel module, from /proc/driver/nvidia/version."""
    pci_gpus: Reading[tuple[PciDevice, ...]]
    device_nodes: Reading[str]
    """What /dev/nvidiactl is to this user: `character device, readable and writable`."""
    host: Host
    interpreter: Reading[Interpreter]
    kernel_log: Reading[tuple[str, ...]]
    hung: tuple[Reading[Any], ...]
    """Questions that did not answer within their time limit."""
    wsl_device: Reading[str] = NOT_ASKED
    """What /dev/dxg, the GPU device of WSL2, is to this user."""
    collected_on: str = ""
    """UTC date of the evidence, ISO 8601; "" when unknown. Checks must not look at the clock."""

    def lists_gpus(self) -> bool:
        """Whether the driver lists at least one GPU; a driver that answers with a failure lists none.

        Raises:
            AbsentReading: nobody asked the driver, or its answer never came or makes no sense.
        """
        return self.num_gpus.answered() and self.num_gpus.need() > 0

    def need_gpus(self) -> None:
        """Nothing, when the driver lists a GPU.

        Raises:
            AbsentReading: it lists none, so that nothing can be said about GPUs.
        """
        if not self.lists_gpus():
            raise AbsentReading(Reading("GPU", None, Status.NOT_FOUND, self.num_gpus.quote))
