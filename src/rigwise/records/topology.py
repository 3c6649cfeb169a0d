"""How the GPUs of one machine are connected with each other and with the CPUs (T3, T16, T19)."""

from collections.abc import Iterator, Mapping
from itertools import combinations

import msgspec

from rigwise.records.reading import Reading, not_asked

NVLINK = "NV"
"""How a cell of `nvidia-smi topo -m` begins where NVLinks connect two GPUs: `NV12`."""
ACROSS_SOCKETS = "SYS"
"""The cell of two GPUs whose copies cross the connection between CPU sockets; old drivers write `SOC`."""


class Matrix(msgspec.Struct, frozen=True, kw_only=True):
    """A table with one cell for each ordered pair of GPUs: `nvidia-smi topo -m`, or `topo -p2p`."""

    gpus: tuple[int, ...]
    """Indices, as far as rows of the table are there."""
    cells: Mapping[tuple[int, int], str]
    """`NV12`, `PIX`, `PXB`, `PHB`, `NODE`, `SYS`; of `topo -p2p`: `OK`, `GNS`, `CNS` ..."""
    cpu_affinity: Mapping[int, str] = {}
    """CPUs next to each GPU, `0-15,32-47`."""
    numa_affinity: Mapping[int, str] = {}
    """NUMA node next to each GPU, as told: `0`, `0-1`; no entry for `N/A`."""
    num_nics: int = 0

    def pairs(self) -> Iterator[tuple[int, int, str]]:
        """Every two GPUs with the cell between them, each pair once."""
        for one, other in combinations(self.gpus, 2):
            cell = self.cells.get((one, other)) or self.cells.get((other, one))
            if cell:
                yield one, other, cell

    def nvlinked(self, one: int, other: int) -> bool:
        """Whether NVLinks connect two GPUs."""
        return self.cells.get((one, other), "").startswith(NVLINK)


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """One NVLink of a GPU."""

    number: int
    gb_per_second: float | None
    """In one direction, 10^9 bytes per second; None for an inactive link."""


class GpuLinks(msgspec.Struct, frozen=True, kw_only=True):
    """What `nvidia-smi nvlink -s` says of one GPU."""

    gpu: int
    name: str
    links: tuple[Link, ...] = ()
    """Empty where all are inactive or the GPU has no NVLink: nvidia-smi says the same of both."""

    def active(self) -> int:
        """Number of links that carry data."""
        return sum(link.gb_per_second is not None for link in self.links)

    def inactive(self) -> tuple[int, ...]:
        """Numbers of the links that carry none."""
        return tuple(link.number for link in self.links if link.gb_per_second is None)


class LinkErrors(msgspec.Struct, frozen=True, kw_only=True):
    """The error counters of one NVLink since the driver was loaded, `nvidia-smi nvlink -e`."""

    gpu: int
    link: int
    counts: Mapping[str, int]
    """`replay`, `recovery`, `crc`, `recovery failed` ...; the bit error rates and corrected symbols are left out."""


class LinkEnd(msgspec.Struct, frozen=True, kw_only=True):
    """One end of a PCIe link: what it can do, and what it does now. None where it is not told."""

    gen: int | None = None
    width: int | None = None
    gen_max: int | None = None
    width_max: int | None = None
    narrowed: bool | None = None
    """Whether it is said to use fewer lanes than it can; lspci writes `Width x8 (downgraded)`, or `(ok)`."""


class PcieLink(msgspec.Struct, frozen=True, kw_only=True):
    """The PCIe link of one GPU, seen from both ends: the GPU's own, and the port it is plugged into."""

    address: str
    """Of the GPU: `0000:41:00.0`; "" where it is not told."""
    name: str = ""
    """The GPU's name as the PCI ID list has it: `GeForce RTX 4090`; "" where it is not told."""
    chip: str = ""
    """`AD102`"""
    card: Reading[LinkEnd]
    port: Reading[LinkEnd] = not_asked("PCIe link of the slot")
    removable: bool = False
    """Whether it hangs on a port for outside boxes, such as Thunderbolt."""


class NumaNode(msgspec.Struct, frozen=True, kw_only=True):
    """One NUMA node: a group of CPUs with memory of their own."""

    node: int
    cpus: str
    """As ranges: `0-15,32-47`; "" for a node of memory only."""


class Platform(msgspec.Struct, frozen=True, kw_only=True):
    """What kind of machine it is, from its firmware and CPU."""

    vendor: str = ""
    product: str = ""
    chassis: int | None = None
    """SMBIOS chassis type."""
    hypervisor: bool = False
    """Whether it is a virtual machine."""


class PairCopies(msgspec.Struct, frozen=True, kw_only=True):
    """Copies between GPUs as p2pBandwidthLatencyTest measured them, one direction, 10^9 bytes per second."""

    through_host: Mapping[tuple[int, int], float] = {}
    """With peer access off."""
    direct: Mapping[tuple[int, int], float] = {}
    """With peer access on, where the GPUs allow it."""
    refused: tuple[tuple[int, int], ...] = ()
    """Pairs that allow no peer access."""


class HostCopies(msgspec.Struct, frozen=True, kw_only=True):
    """Copies between pinned host memory and one GPU, 10^9 bytes per second."""

    gpu: int
    name: str
    to_gpu: float | None = None
    from_gpu: float | None = None
    slowest_run: float | None = None
    """The slowest of several runs of the same copies; None where one run was made."""


class Topology(msgspec.Struct, frozen=True, kw_only=True):
    """The matrix of `nvidia-smi topo -m`, peer-to-peer state, bridges above the GPUs, NUMA nodes."""

    matrix: Reading[Matrix] = not_asked("connections between the GPUs")
    peer_access: Reading[Matrix] = not_asked("peer access between the GPUs")
    nvlinks: Reading[tuple[GpuLinks, ...]] = not_asked("NVLinks")
    nvlink_errors: Reading[tuple[LinkErrors, ...]] = not_asked("NVLink error counters")
    pcie_links: tuple[PcieLink, ...] = ()
    """One for each NVIDIA display device that the PCI bus describes."""
    redirecting_bridges: Reading[tuple[str, ...]] = not_asked("access control of the PCIe bridges")
    """PCIe bridges that send copies between devices below them up to the CPU (ACS)."""
    numa_nodes: Reading[tuple[NumaNode, ...]] = not_asked("NUMA nodes")
    platform: Reading[Platform] = not_asked("kind of machine")
    nccl_settings: Reading[dict[str, str]] = not_asked("NCCL's settings")
    """Variables NCCL_*, as somebody handed them over."""
    pair_copies: Reading[PairCopies] = not_asked("copies between the GPUs")
    host_copies: Reading[tuple[HostCopies, ...]] = not_asked("copies between host and GPU")

    def pcie_link(self, pci_bus_id: str | None) -> PcieLink | None:
        """The link of the GPU at this address; None where the bus tells nothing of it."""
        return next((link for link in self.pcie_links if link.address == pci_bus_id), None)
