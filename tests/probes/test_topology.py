"""The connections of a machine, from /sys, from nvidia-smi, and from what people paste."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from rigwise.probes.topology.topology import read_topology
from rigwise.records.evidence import Evidence, Status
from rigwise.records.topology import LinkEnd, NumaNode, Platform
from rigwise.sources.pasted import PastedSource, Pieces

CARD = "/sys/bus/pci/devices/0000:41:00.0"
PORT = "/sys/bus/pci/devices/0000:40:01.1"
MACHINE = {
    "/proc/bus/pci/devices": "4100\t10de2684\t9e" + "\t0" * 14 + "\tnvidia\n",
    "/sys/bus/pci_express/devices": "0000:40:01.1:pcie001\n0000:40:01.1:pcie010\n0000:40:03.1:pcie001\n",
    f"{PORT}/secondary_bus_number": "65\n",
    f"{PORT}/current_link_speed": "2.5 GT/s PCIe\n",
    f"{PORT}/current_link_width": "8\n",
    f"{PORT}/max_link_speed": "32.0 GT/s PCIe\n",
    f"{PORT}/max_link_width": "16\n",
    f"{CARD}/current_link_speed": "2.5 GT/s PCIe\n",
    f"{CARD}/current_link_width": "8\n",
    f"{CARD}/max_link_speed": "16.0 GT/s PCIe\n",
    f"{CARD}/max_link_width": "16\n",
    "/sys/devices/system/node": "has_cpu\nnode0\nnode1\npossible\n",
    "/sys/devices/system/node/node0/cpulist": "0-15,32-47\n",
    "/sys/devices/system/node/node1/cpulist": "16-31,48-63\n",
    "/sys/class/dmi/id/sys_vendor": "Supermicro\n",
    "/sys/class/dmi/id/product_name": "SYS-740GP\n",
    "/sys/class/dmi/id/chassis_type": "17\n",
    "/proc/cpuinfo": "flags\t\t: fpu vme de pse\n",
}


class Machine(PastedSource):
    """A machine that counts its GPUs, and writes down which commands it was asked."""

    def __init__(self, num_gpus: int, hangs: Sequence[str] = ()) -> None:
        super().__init__("a machine", Pieces({}, MACHINE))
        self._num_gpus, self._hangs = num_gpus, hangs
        self.asked: list[str] = []

    def nvml(self, name: str, gpu: int | None = None) -> Evidence:
        told = {"DeviceGetCount": str(self._num_gpus), "DeviceGetPciInfo": "busId=00000000:41:00.0"}.get(name)
        status = Status.OK if told else Status.NOT_SUPPORTED
        return Evidence(source="nvml", key=name, status=status, text=told or "")

    def command(self, argv: Sequence[str], *, key: str | None = None, timeout_seconds: float = 10.0) -> Evidence:
        if not argv:
            return super().command(argv, key=key)
        self.asked.append(key or " ".join(argv))
        if argv[0] in self._hangs:
            return Evidence(source="command", key=key or "", status=Status.TIMED_OUT)
        return super().command(argv, key=key, timeout_seconds=timeout_seconds)


def test_both_ends_of_the_link_and_the_kind_of_machine() -> None:
    topology = read_topology(Machine(1))
    (link,) = topology.pcie_links
    assert link.address == "0000:41:00.0"
    assert link.card.need() == LinkEnd(gen=1, width=8, gen_max=4, width_max=16)
    assert link.port.need() == LinkEnd(gen=1, width=8, gen_max=5, width_max=16)
    assert topology.numa_nodes.need() == (NumaNode(node=0, cpus="0-15,32-47"), NumaNode(node=1, cpus="16-31,48-63"))
    assert topology.platform.need() == Platform(vendor="Supermicro", product="SYS-740GP", chassis=17)


def test_one_gpu_is_asked_nothing_that_matters_between_gpus() -> None:
    machine = Machine(1)
    topology = read_topology(machine)
    assert not [key for key in machine.asked if key.startswith(("nvidia-smi", "lspci"))]
    assert topology.matrix.status is topology.nvlinks.status is Status.NOT_SUPPORTED


def test_nothing_more_is_asked_after_one_answer_hung() -> None:
    machine = Machine(2, hangs=("lspci", "nvidia-smi"))
    topology = read_topology(machine)
    assert [key for key in machine.asked if key.startswith(("nvidia-smi", "lspci"))] == ["lspci"]
    assert topology.peer_access.status is Status.TIMED_OUT


def test_a_driver_that_cannot_count_is_not_asked_again() -> None:
    class Broken(Machine):
        def nvml(self, name: str, gpu: int | None = None) -> Evidence:
            return Evidence(source="nvml", key=name, status=Status.FAILED, text="Driver/library version mismatch")

    machine = Broken(0)
    topology = read_topology(machine)
    assert not [key for key in machine.asked if key.startswith("nvidia-smi")]
    assert topology.nvlinks.status is Status.NOT_FOUND
    assert [link.address for link in topology.pcie_links] == ["0000:41:00.0"]


def test_names_of_lspci_join_what_sys_tells() -> None:
    text = "0000:41:00.0 VGA compatible controller [0300]: NVIDIA Corporation AD102 [GeForce RTX 4090] [10de:2684]\n"
    (link,) = read_topology(PastedSource("a folder", Pieces({"lspci": text}, MACHINE))).pcie_links
    assert (link.name, link.chip, link.card.need().width) == ("GeForce RTX 4090", "AD102", 8)


def test_lspci_without_root_leaves_the_access_control_open() -> None:
    text = "41:00.0 VGA compatible controller: NVIDIA Corporation AD102\n\tCapabilities: <access denied>\n"
    topology = read_topology(PastedSource("lspci", Pieces({"lspci": text})))
    assert topology.redirecting_bridges.status is Status.NOT_PERMITTED
    assert topology.pcie_links[0].card.status is Status.NOT_PERMITTED


def test_a_virtual_machine_by_lscpu_alone() -> None:
    text = "Architecture: x86_64\nHypervisor vendor: KVM\nVirtualization type: full\n"
    assert read_topology(PastedSource("lscpu", Pieces({"lscpu": text}))).platform.need().hypervisor


@pytest.mark.parametrize("key", ["nvidia-smi topo -m", "nvidia-smi nvlink -s", "lspci", "p2pBandwidthLatencyTest"])
def test_a_garbled_answer_is_a_reason_and_no_crash(key: str) -> None:
    topology = read_topology(PastedSource("garbled", Pieces({key: "\x00\ufffd GPU0 GPU"})))
    told = (topology.matrix, topology.nvlinks, topology.redirecting_bridges, topology.pair_copies)
    assert Status.UNREADABLE in {reading.status for reading in told}


def test_the_shared_captures(shared: Path) -> None:
    speeds = (shared / "evidence" / "nvlink_status_a100.txt").read_text(encoding="utf-8")
    devices = (shared / "evidence" / "lspci_nn_a100.txt").read_text(encoding="utf-8")
    topology = read_topology(PastedSource("captures", Pieces({"nvidia-smi nvlink -s": speeds, "lspci": devices})))
    assert [(gpu.gpu, gpu.active(), gpu.inactive()) for gpu in topology.nvlinks.need()] == [
        (gpu, 12, ()) for gpu in range(8)
    ]
    assert [link.address for link in topology.pcie_links][:2] == ["0001:00:00.0", "0002:00:00.0"]
    assert len(topology.pcie_links) == 8
