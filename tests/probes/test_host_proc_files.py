"""Every /proc file of the shared evidence is read, and none of them is a problem on its own."""

from pathlib import Path

import pytest

from rigwise.engine import judge
from rigwise.probes.rig import read_rig
from rigwise.records.finding import Action, Verdict
from rigwise.records.rig import Rig
from rigwise.sources.pasted import PastedSource
from rigwise.sources.recognition.pieces import Pieces

PROC_FILES = {
    "proc_stat": "/proc/stat",
    "proc_loadavg": "/proc/loadavg",
    "proc_meminfo": "/proc/meminfo",
    "proc_vmstat": "/proc/vmstat",
    "proc_diskstats": "/proc/diskstats",
    "proc_pressure_cpu": "/proc/pressure/cpu",
    "proc_pressure_io": "/proc/pressure/io",
    "proc_pressure_memory": "/proc/pressure/memory",
    "proc_net_netstat": "/proc/net/netstat",
    "proc_net_softnet_stat": "/proc/net/softnet_stat",
}


def rig_of(shared: Path, *names: str) -> Rig:
    texts = {PROC_FILES[name]: (shared / "evidence" / f"{name}.txt").read_text(encoding="utf-8") for name in names}
    return read_rig(PastedSource("files", Pieces(files=texts)))


@pytest.mark.parametrize("name", PROC_FILES)
def test_a_file_alone_is_go_without_a_problem(name: str, shared: Path) -> None:
    report = judge(rig_of(shared, name))
    assert [one.check for one in report.findings if one.verdict is Verdict.PROBLEM] == []
    assert report.decision.action is Action.GO


def test_their_values_are_read(shared: Path) -> None:
    rig = rig_of(shared, *PROC_FILES)
    assert rig.cpu.num_cpus.need() == 8
    assert rig.cpu.since_boot.need().busy_ratio == pytest.approx(0.0445, abs=0.0005)
    assert rig.cpu.load.need() == (0.21, 0.37, 0.39)
    assert rig.cpu.io_pressure_ratio.need() == pytest.approx(0.0034)
    assert rig.memory.oom_kills.need() == 0
    assert rig.host.swap_used_bytes.need() == (4194300 - 3155360) * 1024
    assert [disk.name for disk in rig.storage.disks.need()] == [
        *("sda", "dm-0", "dm-1", "dm-2", "dm-3", "dm-4", "dm-5", "mmcblk0", "vda", "nvme0n1", "sdb", "sdc")
    ]
    assert (rig.network.receive_queues.need().processed, rig.network.receive_queues.need().dropped) == (9907571, 41)
    assert rig.network.tcp.need().at_most


def test_one_look_tells_no_window(shared: Path) -> None:
    rig = rig_of(shared, "proc_stat", "proc_diskstats")
    assert not rig.cpu.total.present
    assert all(disk.busy_ratio is None for disk in rig.storage.disks.need())
