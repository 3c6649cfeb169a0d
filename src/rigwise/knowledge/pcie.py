"""What a PCIe link carries, how many lanes a card has, and which links say nothing about the slot.

The link of a virtual machine's GPU is drawn by the hypervisor, a laptop's is wired as its maker chose, and a GPU on the
CPU's own package has none worth the name: none of them may be judged against x16.
"""

import csv
import re
from collections.abc import Iterator
from functools import cache
from importlib import resources

import msgspec

from rigwise.knowledge.gpus import find_gpu
from rigwise.records.gpu import Gpu
from rigwise.records.rig import Rig
from rigwise.records.topology import LinkEnd, PcieLink, Platform

MOBILE = re.compile(r"\b(?:Laptop GPU|Mobile|Max-Q|Notebook|MX\d{3}|\d{3,4}M|with Max-Q Design)\b")
MAX_Q_DESKTOP = "Workstation Edition"
"""`RTX PRO 6000 Blackwell Max-Q Workstation Edition` is a desktop card in spite of its name."""
ON_PACKAGE = re.compile(r"\b(?:GB10|GH200|GB200|GB300|Orin|Thor|Xavier|Tegra|Jetson|Grace)\b")
"""GPUs beside their CPU: NVLink-C2C or the chip itself connects them, not a slot."""
SLICES = re.compile(r"\b(?:MIG|GRID|vGPU|vWS|vCS)\b|\b[A-Z]+\d+[A-Z]*-\d+[ABCQ]\b")
"""MIG devices and vGPU profiles (`NVIDIA A40-48Q`)."""
CHIP_LENGTH = 5
"""`AD107`; what follows are variants: `AD107M` in laptops, `AD107GL` on workstation cards."""
VIRTUAL = frozenset({"Pass-Through", "VGPU"})
"""Virtualization modes of nvidia-smi in which the link is a virtual machine's."""
PORTABLE_CHASSIS = frozenset({8, 9, 10, 11, 13, 14, 30, 31, 32})
"""SMBIOS 3.7, table 17: portable, laptop, notebook, hand held, all in one, sub notebook, tablet, convertible,
detachable."""
COHERENT = "ATS"
"""Addressing mode of a GPU that shares the CPU's page tables over NVLink-C2C; its PCIe link is a side entrance."""
VIRTUAL_PRODUCTS = re.compile(
    r"KVM|QEMU|VirtualBox|VMware|Virtual Machine|Google Compute Engine|Amazon EC2|OpenStack|Xen|Standard PC|HVM domU"
    r"|Alibaba Cloud|Tencent Cloud|DigitalOcean|Bochs|bhyve|Parallels",
    re.IGNORECASE,
)
VIRTUAL_BUS = "00"
"""A plugged-in card is always behind a port, so never on the first bus; in a virtual machine it often is."""


class PcieGeneration(msgspec.Struct, frozen=True, kw_only=True):
    """One row of pcie_links.csv: what one lane carries in one direction."""

    gen: int
    gt_per_second: float
    payload_share: float
    """Of the raw rate, after the line's encoding."""
    usual_ratio: float
    """Share of that which a copy from pinned memory reaches at least on a sound machine."""

    @property
    def gb_per_second_per_lane(self) -> float:
        """10^9 bytes per second."""
        return self.gt_per_second * self.payload_share / 8


@cache
def pcie_generations() -> dict[int, PcieGeneration]:
    """Every generation by number."""
    rows = (msgspec.convert(row, PcieGeneration, strict=False) for row in _rows("pcie_links.csv"))
    return {row.gen: row for row in rows}


def gb_per_second(gen: int, width: int) -> float | None:
    """What a link carries in one direction, 10^9 bytes per second; None for an unknown generation.

    >>> round(gb_per_second(4, 16), 1), round(gb_per_second(3, 8), 2), gb_per_second(9, 16)
    (31.5, 7.88, None)
    """
    row = pcie_generations().get(gen)
    return row.gb_per_second_per_lane * width if row else None


def lanes_of_card(name: str, memory_total_bytes: int | None = None, chip: str = "") -> int | None:
    """PCIe lanes the card has by design; None where no table knows it.

    >>> lanes_of_card("NVIDIA GeForce RTX 4060"), lanes_of_card("", chip="AD107"), lanes_of_card("NVIDIA Unheard Of")
    (8, 8, None)
    """
    model = find_gpu(name, memory_total_bytes) if name else None
    if model is not None:
        return model.pcie_lanes
    return _lanes_by_chip().get(chip[:CHIP_LENGTH]) or _lanes_by_card().get(name.removeprefix("NVIDIA "))


@cache
def _lanes_by_chip() -> dict[str, int]:
    return {row["chip"]: int(row["lanes"]) for row in _rows("pcie_lanes.csv")}


@cache
def _lanes_by_card() -> dict[str, int]:
    rows = list(_rows("pcie_lanes.csv"))
    return {card.strip(): int(row["lanes"]) for row in rows for card in row["cards"].split(";")}


def _rows(table: str) -> Iterator[dict[str, str]]:
    text = resources.files("rigwise.knowledge").joinpath(table).read_text(encoding="utf-8")
    return iter(list(csv.DictReader(text.splitlines())))


def is_fixed_by_maker(name: str) -> bool:
    """Whether a GPU of this name is soldered, on a CPU's package, or a slice of one: there is no slot to judge.

    >>> [is_fixed_by_maker(name) for name in ("NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA GB10", "NVIDIA A40-48Q")]
    [True, True, True]
    >>> is_fixed_by_maker("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition"), is_fixed_by_maker("Tesla T4")
    (False, False)
    """
    if MAX_Q_DESKTOP in name:
        return False
    return any(pattern.search(name) for pattern in (MOBILE, ON_PACKAGE, SLICES))


def is_virtual(platform: Platform) -> bool:
    """Whether the firmware or the CPU say that this is a virtual machine."""
    return platform.hypervisor or bool(VIRTUAL_PRODUCTS.search(f"{platform.vendor} {platform.product}"))


def platform_hides_slot(rig: Rig) -> bool:
    """Whether no link of this machine tells about a slot: virtual machines, WSL, laptops."""
    platform = rig.topology.platform.value
    if platform is not None and (is_virtual(platform) or platform.chassis in PORTABLE_CHASSIS):
        return True
    return rig.host.wsl.value is True


def has_slot(gpu: Gpu, rig: Rig) -> bool:
    """Whether this GPU sits in a slot of this machine, so that its link may be judged; in doubt it does."""
    link = rig.topology.pcie_link(gpu.pci_bus_id.value)
    if platform_hides_slot(rig) or gpu.virtualization_mode.value in VIRTUAL or gpu.mig_enabled.value:
        return False
    if gpu.addressing_mode.value == COHERENT:
        return False
    return not (is_fixed_by_maker(gpu.name.value or "") or _is_odd(gpu.pci_bus_id.value or "", link))


def link_has_slot(link: PcieLink, rig: Rig) -> bool:
    """As `has_slot`, for a GPU of which only the PCI bus tells."""
    soldered = is_fixed_by_maker(link.name) or link.chip[CHIP_LENGTH:].endswith("M")
    return not (platform_hides_slot(rig) or soldered or _is_odd(link.address, link))


def _is_odd(address: str, link: PcieLink | None) -> bool:
    """Whether the device is on the first bus, as a virtual machine shows it, or in an outside box."""
    bus = address.split(":")[1:2]
    return bus == [VIRTUAL_BUS] or (link is not None and link.removable)


def slot_of(gpu: Gpu, rig: Rig) -> LinkEnd:
    """What the port above the GPU tells; a `LinkEnd` of unknowns where it tells nothing."""
    link = rig.topology.pcie_link(gpu.pci_bus_id.value)
    return (link.port.value if link else None) or LinkEnd()
