"""How GPUs, CPUs and PCIe bridges are connected."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from msgspec.structs import replace

from rigwise.probes.answers import parsed
from rigwise.probes.gpu.gpus_from_nvml import read_num_gpus
from rigwise.probes.topology.copy_tests import parse_host_copies, parse_pair_copies
from rigwise.probes.topology.lspci import HIDDEN, Device, parse_devices
from rigwise.probes.topology.nccl_settings import read_nccl_settings
from rigwise.probes.topology.numa import node_numbers, parse_lscpu, parse_numactl
from rigwise.probes.topology.nvlink_status import parse_link_errors, parse_link_speeds
from rigwise.probes.topology.pcie_links import links_from_lspci, links_from_sys
from rigwise.probes.topology.topo_matrix import parse_matrix, parse_peer_access
from rigwise.records.evidence import Evidence, Status
from rigwise.records.reading import Reading, absent, present
from rigwise.records.topology import NumaNode, PcieLink, Platform, Topology
from rigwise.sources.source import Source

T = TypeVar("T")

DMI = "/sys/class/dmi/id"
NODES = "/sys/devices/system/node"
HYPERVISOR = re.compile(r"\bhypervisor\b", re.IGNORECASE)
"""The CPU's flag in /proc/cpuinfo, and the line of lscpu."""
TOLD = re.compile(r"\W*(?:GPU|NIC|Link|Device|NVML|SUM|memcpy|\d+ )")
"""How the lines begin that say something; the legend and the notes do not."""
MOST_QUOTED = 40
LIMIT_SECONDS = 5.0


def read_topology(source: Source) -> Topology:
    """The connections between GPUs and CPUs."""
    several = SeveralGpus(source)
    lspci = several.ask("lspci", ["lspci", "-D", "-nn", "-vvv"])
    devices = parsed("PCI devices", lspci, parse_devices)
    return Topology(
        matrix=several.smi("connections between the GPUs", "topo -m", parse_matrix),
        peer_access=several.smi("peer access between the GPUs", "topo -p2p", parse_peer_access, "r"),
        nvlinks=several.smi("NVLinks", "nvlink -s", parse_link_speeds),
        nvlink_errors=several.smi("NVLink error counters", "nvlink -e", parse_link_errors),
        pcie_links=_pcie_links(source, devices, lspci),
        redirecting_bridges=_redirecting_bridges(devices, lspci),
        numa_nodes=_numa_nodes(source),
        platform=_platform(source),
        nccl_settings=read_nccl_settings(source),
        pair_copies=_handed_over(source, "copies between the GPUs", "p2pBandwidthLatencyTest", parse_pair_copies),
        host_copies=_handed_over(source, "copies between host and GPU", "nvbandwidth", parse_host_copies),
    )


class SeveralGpus:
    """Asks what only matters between GPUs: nothing on a machine with one GPU, nothing more after one answer hung."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._num_gpus = read_num_gpus(source)
        self._hung: Evidence | None = None

    def ask(self, key: str, argv: Sequence[str]) -> Evidence:
        """The answer of a command; not supported where there is only one GPU to ask about."""
        if self._num_gpus.value == 1:
            return Evidence(source="command", key=key, status=Status.NOT_SUPPORTED)
        if self._hung is not None:
            return self._hung
        answer = self._source.command(argv, key=key, timeout_seconds=LIMIT_SECONDS)
        if answer.status is Status.TIMED_OUT:
            self._hung = answer
        return answer

    def smi(self, name: str, words: str, parse: Callable[[str], T], *more: str) -> Reading[T]:
        """What a command of nvidia-smi says; nobody asks it where the driver cannot count its GPUs."""
        key = f"nvidia-smi {words}"
        if self._num_gpus.status not in (Status.OK, Status.NOT_RECORDED):
            return absent(name, Evidence(source="command", key=key, status=Status.NOT_FOUND))
        return _parsed(name, self.ask(key, ["nvidia-smi", *words.split(), *more]), parse)


def _parsed(name: str, answer: Evidence, parse: Callable[[str], T]) -> Reading[T]:
    """The parsed answer, quoted without its legend and only as far as it can be read at a glance."""
    reading = parsed(name, answer, parse)
    if not reading.present or reading.value is None:
        return reading
    lines = [line for line in answer.text.splitlines() if TOLD.match(line)]
    shown = lines[:MOST_QUOTED] + (["..."] if lines[MOST_QUOTED:] else [])
    return present(name, reading.value, answer, "\n".join(shown) or None)


def _handed_over(source: Source, name: str, key: str, parse: Callable[[str], T]) -> Reading[T]:
    """What a test that rigwise never starts printed, where somebody handed that over."""
    return _parsed(name, source.command([], key=key), parse)


def _pcie_links(source: Source, devices: Reading[tuple[Device, ...]], lspci: Evidence) -> tuple[PcieLink, ...]:
    """What /sys tells, with the names that lspci adds; otherwise what lspci tells."""
    told = {link.address: link for link in links_from_lspci(devices.value_or(()), lspci)}
    seen = links_from_sys(source)
    named = (
        replace(link, name=told[link.address].name, chip=told[link.address].chip) if link.address in told else link
        for link in seen
    )
    return tuple(named) or tuple(told.values())


def _redirecting_bridges(devices: Reading[tuple[Device, ...]], lspci: Evidence) -> Reading[tuple[str, ...]]:
    """Bridges above GPUs whose access control redirects; not permitted where lspci could not see any of it."""
    name = "access control of the PCIe bridges"
    if not devices.present:
        return absent(name, lspci, devices.status)
    gpus = [device.address for device in devices.value_or(()) if device.is_nvidia_gpu]
    bridges = [device for device in devices.value_or(()) if any(device.is_above(address) for address in gpus)]
    seen = [device for device in bridges if device.line("ACSCtl")]
    if not seen:
        hidden = any(HIDDEN in device.lines for device in devices.value_or(()))
        return absent(name, lspci, Status.NOT_PERMITTED if hidden else Status.NOT_RECORDED)
    redirecting = [device for device in seen if device.redirects]
    shown = [f"{device.address} ACSCtl: {device.line('ACSCtl')}" for device in (redirecting or seen)[:MOST_QUOTED]]
    return present(name, tuple(device.address for device in redirecting), lspci, "\n".join(shown))


def _numa_nodes(source: Source) -> Reading[tuple[NumaNode, ...]]:
    """From /sys; otherwise from what lscpu or numactl printed, which rigwise starts only where /sys is silent."""
    folder = source.file(NODES)
    if folder.status is Status.OK:
        return parsed("NUMA nodes", folder, lambda text: tuple(_node(source, node) for node in node_numbers(text)))
    for key, parse in (("lscpu", parse_lscpu), ("numactl --hardware", parse_numactl)):
        reading = parsed("NUMA nodes", source.command(key.split(), key=key), parse)
        if reading.present:
            return reading
    return absent("NUMA nodes", folder)


def _node(source: Source, node: int) -> NumaNode:
    cpus = source.file(f"{NODES}/node{node}/cpulist")
    return NumaNode(node=node, cpus=cpus.text.strip() if cpus.status is Status.OK else "")


def _platform(source: Source) -> Reading[Platform]:
    """From the firmware's tables and the CPU's flags; absent where neither is there."""
    vendor, product, chassis = (
        source.file(f"{DMI}/{field}") for field in ("sys_vendor", "product_name", "chassis_type")
    )
    cpu = next((answer for answer in _cpu_answers(source) if answer.status is Status.OK), None)
    if cpu is None and vendor.status is not Status.OK and chassis.status is not Status.OK:
        return absent("kind of machine", vendor)
    known = [answer.text.strip() if answer.status is Status.OK else "" for answer in (vendor, product, chassis)]
    platform = Platform(
        vendor=known[0],
        product=known[1],
        chassis=int(known[2]) if known[2].isdecimal() else None,
        hypervisor=cpu is not None and HYPERVISOR.search(cpu.text) is not None,
    )
    said = " ".join(filter(None, known[:2])) or ("hypervisor" if platform.hypervisor else "no hypervisor")
    return present("kind of machine", platform, vendor if vendor.status is Status.OK else cpu or vendor, said)


def _cpu_answers(source: Source) -> Iterator[Evidence]:
    yield source.file("/proc/cpuinfo")
    yield source.command(["lscpu"], key="lscpu")
