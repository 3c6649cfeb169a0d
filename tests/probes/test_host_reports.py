"""Reports of system programs in the forms in which people paste them."""

import random
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from rigwise.probes.host import (
    control_group,
    counter_looks,
    cpu_lists,
    df,
    diskstats,
    ethtool,
    fio,
    free,
    ibstat,
    iostat,
    ip_link,
    lsblk,
    mpstat,
    pidstat,
    proc_stat,
    tcp,
    top,
    vmstat,
)

MPSTAT = """\
12:00:01 AM  CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle
12:00:02 AM  all   50.00    0.00    0.00   10.00    0.00    0.00    5.00    0.00    0.00   35.00
12:00:02 AM    0   99.00    0.00    1.00    0.00    0.00    0.00    0.00    0.00    0.00    0.00
12:00:02 AM    1    1.00    0.00    0.00   20.00    0.00    0.00   10.00    0.00    0.00   69.00

12:00:02 AM  CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle
12:00:03 AM  all   30.00    0.00    0.00   10.00    0.00    0.00    5.00    0.00    0.00   55.00
12:00:03 AM    0   59.00    0.00    1.00    0.00    0.00    0.00    0.00    0.00    0.00   40.00
12:00:03 AM    1    1.00    0.00    0.00   20.00    0.00    0.00   10.00    0.00    0.00   69.00
"""
IOSTAT = """\
avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           1.00    0.00    1.00    0.00    0.00   98.00

Device             tps    kB_read/s    kB_wrtn/s    kB_dscd/s    kB_read    kB_wrtn    kB_dscd
sda               9.00        80.00        20.00         0.00       8000       2000          0

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           2.00    0.00    1.00   40.00    3.00   54.00

Device             tps    kB_read/s    kB_wrtn/s    kB_dscd/s    kB_read    kB_wrtn    kB_dscd
sda             120.00      9440.00        20.00         0.00       9440         20          0
"""


def test_mpstat_is_the_mean_of_its_intervals() -> None:
    found = mpstat.window(MPSTAT)
    assert found.total.busy_ratio == pytest.approx(0.40)
    assert found.each[0].busy_ratio == pytest.approx(0.80)
    assert found.each[1].iowait_ratio == pytest.approx(0.2)
    assert found.each[1].steal_ratio == pytest.approx(0.1)
    assert found.seconds == 2


def test_mpstat_across_midnight_and_with_a_broken_line() -> None:
    text = MPSTAT.replace("12:00:01 AM", "11:59:59 PM").replace("   59.00    0.00    1.00", "   5~.00 |")
    assert mpstat.window(text).seconds == 4
    assert mpstat.window(text).each[0].busy_ratio == pytest.approx(1.0)


@pytest.mark.parametrize("label", ["Average:", "Durchschn.:", "Moyenne :", "Media:", "平均时间:"])
def test_mpstat_takes_averages_in_any_language(label: str) -> None:
    rows = [line.split(maxsplit=2)[2] for line in MPSTAT.splitlines()[:4]]
    averages = "\n".join(f"{label}  {row}" for row in rows)
    found = mpstat.window(MPSTAT + "\n" + averages)
    assert found.total.busy_ratio == pytest.approx(0.5)


def test_the_first_report_of_iostat_is_the_time_since_boot() -> None:
    assert iostat.window(IOSTAT).total.iowait_ratio == pytest.approx(0.4)
    assert iostat.disks(IOSTAT)[0].read_bytes_per_second == 9440 * 1024
    with pytest.raises(LookupError):
        iostat.window(IOSTAT[: IOSTAT.rindex("avg-cpu")])


def test_a_table_whose_empty_lines_got_lost() -> None:
    text = "Device: tps kB_read/s kB_wrtn/s kB_read kB_wrtn\nsda 9.0 80.0 20.0 8000 2000\n"
    text += "avg-cpu: %user %nice %system %iowait %steal %idle\n1.0 0.0 1.0 0.0 0.0 98.0"
    assert [disk.name for disk in iostat.disks(text)] == ["sda"]


def test_time_per_request_is_weighted_by_their_number() -> None:
    text = "Device r/s w/s r_await w_await aqu-sz %util\nsda 90.0 10.0 10.0 110.0 2.0 50.0"
    assert iostat.disks(text)[0].wait_seconds == pytest.approx(0.020)


def test_vmstat_leaves_out_the_time_since_boot() -> None:
    head = " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
    first, later = " 9  0 0 1 1 1 900 900 0 0 1 1 1 1 98 0 0\n", " 2  0 0 1 1 1 10 20 0 0 1 1 40 10 30 15 5\n"
    assert vmstat.swap_rates(head + first + later + head + later) == (10 * 1024, 20 * 1024)
    assert vmstat.window(head + first + later).total.iowait_ratio == pytest.approx(0.15)
    with pytest.raises(LookupError):
        vmstat.window(head + first)


def test_two_looks_at_the_counters() -> None:
    before, after = (
        "cpu 100 0 0 900 0 0 0 0\ncpu0 100 0 0 900 0 0 0 0",
        "cpu 150 0 0 950 0 0 0 0\ncpu0 150 0 0 950 0 0 0 0",
    )
    found = proc_stat.window(f"{before}\n{after}")
    assert found.total.busy_ratio == found.each[0].busy_ratio == 0.5
    assert found.seconds == 1.0
    with pytest.raises(LookupError):
        proc_stat.window(f"{before}\n{before}")


def test_iowait_may_run_backwards() -> None:
    text = "cpu 100 0 0 900 50 0 0 0\ncpu 100 0 0 1000 40 0 0 0"
    assert proc_stat.window(text).total.iowait_ratio == 0


@pytest.mark.parametrize(
    ("total", "bytes_of_ram"),
    [("65664980", 65664980 * 2**10), ("64126", 64126 * 2**20), ("62", 62 * 2**30), ("62Gi", 62 * 2**30)],
)
def test_free_with_any_unit(total: str, bytes_of_ram: int) -> None:
    text = f"              total        used        free      shared  buff/cache   available\nMem: {total} 1 1 1 1 1\n"
    assert free.memory(text).ram_total == bytes_of_ram


def test_free_of_old_versions() -> None:
    text = """\
             total       used       free     shared    buffers     cached
Mem:      16336000   16000000     336000          0     400000   12000000
-/+ buffers/cache:    3600000   12736000
Swap:      8388604     100000    8288604"""
    assert free.memory(text) == (16336000 * 1024, 12736000 * 1024, 8388604 * 1024, 100000 * 1024)


def test_free_in_french() -> None:
    text = """\
               total       utilisé      libre     partagé tamp/cache   disponible
Mem:        65664980    20000000    36000000      200000     9664980    44000000
Partition d'échange:     8388604           0     8388604"""
    assert free.memory(text).swap_total == 8388604 * 1024


def test_df_joins_room_and_inodes() -> None:
    text = """\
Filesystem     1K-blocks     Used Available Use% Mounted on
/dev/sda1      103081248 48216000  49605984  50% /my data
Filesystem      Inodes  IUsed   IFree IUse% Mounted on
/dev/sda1      6553600 6500000   53600  99% /my data"""
    [found] = df.file_systems(text)
    assert (found.mount_point, found.used_ratio, found.inodes_used_ratio) == ("/my data", 0.5, 0.99)


def top_times(name: str, user: str, idle: str) -> str:
    return f"%Cpu{name} : {user} us, 1.0 sy, 0.0 ni, {idle} id, 0.0 wa, 0.0 hi, 0.0 si, 0.0 st   "


def test_top_takes_the_last_screen() -> None:
    head = "top - 10:00:00 up 1 day, load average: 0.10, 0.20, 0.30\n"
    text = f"{head}{top_times('(s)', '1.0', '98.0')}\n{head}{top_times('(s)', '81.0', '18.0')}\n"
    assert top.window(text).total.busy_ratio == pytest.approx(0.82)
    assert top.load(text) == (0.1, 0.2, 0.3)


def test_top_with_two_cpus_in_a_line() -> None:
    found = top.window(top_times("0", "99.0", "0.0") + top_times("1", "1.0", "98.0"))
    assert [cpu.busy_ratio for cpu in found.each] == [pytest.approx(1.0), pytest.approx(0.02)]


def test_pidstat_with_a_clock_of_twelve_hours() -> None:
    text = """\
10:15:01 AM   UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command
10:15:02 AM  1000      4242   97.00    2.00    0.00    1.00   99.00     3  python
10:15:02 AM     0        17    0.00    1.00    0.00    0.00    1.00     0  ksoftirqd/0"""
    assert [(one.pid, one.name, one.cpus) for one in pidstat.processes(text)] == [
        (4242, "python", 0.99),
        (17, "ksoftirqd/0", 0.01),
    ]


def test_pidstat_takes_the_averages_which_name_no_cpu() -> None:
    text = """\
14:42:25      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command
14:42:26        0     17930   42.16    0.00    0.00   57.84   42.16     0  python

Average:      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command
Average:        0     17930   22.00    0.00    0.00   57.84   22.00     -  python"""
    assert [one.cpus for one in pidstat.processes(text)] == [0.22]


def test_fio_of_version_2_and_several_jobs() -> None:
    text = """\
seq: (g=0): rw=read, bs=1M-1M/1M-1M/1M-1M, ioengine=libaio, iodepth=32
rand: (g=1): rw=randread, bs=4K-4K/4K-4K/4K-4K, ioengine=libaio, iodepth=1
fio-2.16
seq: (groupid=0, jobs=1): err= 0: pid=1: Mon Nov 30
  read : io=8192.0MB, bw=150000KB/s, iops=146, runt= 55924msec
rand: (groupid=1, jobs=1): err= 0: pid=2: Mon Nov 30
  read : io=28.0MB, bw=480KB/s, iops=120, runt= 60001msec
    clat percentiles (usec):
     | 99.00th=[16768], 99.50th=[17024]"""
    found = fio.disk_speed(text)
    assert found.sequential_read_bytes_per_second == 150e6
    assert found.random_reads_per_second == 120
    assert found.random_read_p99_seconds == pytest.approx(0.016768)


def test_fio_that_only_wrote_tells_nothing() -> None:
    text = (
        "w: (g=0): rw=write, bs=(R) 1024KiB-1024KiB, ioengine=sync, iodepth=1\n  write: IOPS=900, BW=900MiB/s (944MB/s)"
    )
    with pytest.raises(LookupError):
        fio.disk_speed(text)


def test_each_group_of_the_tree_may_have_a_limit() -> None:
    assert control_group.folders("12:cpu,cpuacct:/a/b\n0::/x", "cpu") == ["", "/a", "/a/b"]
    assert control_group.folders("0::/../outside") == [""]


LSBLK_ALL_COLUMNS = """
NAME   MAJ:MIN RM  SIZE RO TYPE MOUNTPOINT FSTYPE   MODEL            ROTA SCHED
fd0      2:0    1  1.4M  0 disk                                         1 cfq
loop0    7:0    0 54.5M  1 loop /snap      squashfs                     1 none
sda      8:0    0   20G  0 disk                     VMware Virtual S    1 cfq
nvme0n1  9:0    0   20G  0 disk                                         0 none
"""


def test_cells_left_empty_move_no_other() -> None:
    found = lsblk.disks(LSBLK_ALL_COLUMNS)
    assert [(disk.name, disk.rotational) for disk in found] == [("sda", True), ("nvme0n1", False)]


PARSERS: list[Callable[[str], Any]] = [
    *(mpstat.window, mpstat.since_boot, mpstat.count_cpus, top.window, top.load, top.processes, vmstat.window),
    *(vmstat.swap_rates, iostat.disks, iostat.window, pidstat.processes, free.memory, df.file_systems, df.mounts),
    *(fio.disk_speed, ip_link.interfaces, ip_link.counted, ethtool.links, ethtool.statistics, ibstat.ports),
    *(
        tcp.from_snmp,
        tcp.from_nstat,
        tcp.from_netstat,
        tcp.estimated,
        tcp.receive_queues,
        proc_stat.window,
        proc_stat.since_boot,
    ),
    *(diskstats.disks, lsblk.disks, counter_looks.halves, cpu_lists.cpu_numbers, control_group.quota),
    *(control_group.throttled, control_group.byte_limit),
]
each_parser = pytest.mark.parametrize(
    "parse", PARSERS, ids=lambda parse: f"{parse.__module__.split('.')[-1]}.{parse.__name__}"
)


@each_parser
def test_damaged_text_is_refused_or_read_but_never_a_crash(parse: Callable[[str], Any]) -> None:
    chance = random.Random(7)
    whole = MPSTAT + IOSTAT + (parse.__doc__ or "")
    texts = ["", "\0", "%", "cpu", "a: b: c:", "9" * 5000, "==> /proc/stat <==", "Tcp:\nTcp:", whole]
    for _ in range(60):
        cut = sorted(chance.randrange(len(whole)) for _ in range(2))
        texts.append(whole[: cut[0]] + chance.choice(["", " ", "\n", ",", "-", "\x1b[0m", "9" * 40]) + whole[cut[1] :])
    assert all(is_read_or_refused(parse, text) for text in texts)


@each_parser
def test_a_long_text_is_read_in_linear_time(parse: Callable[[str], Any]) -> None:
    began = time.perf_counter()
    for text in ((MPSTAT + IOSTAT) * 150, "1" * 200_000, " " * 200_000, "cpu " * 50_000, "a:" * 100_000):
        assert is_read_or_refused(parse, text)
    assert time.perf_counter() - began < 3


def is_read_or_refused(parse: Callable[[str], Any], text: str) -> bool:
    """True; the exceptions that `parsed` turns into an unreadable answer are the only ones that do not pass on."""
    with suppress(ValueError, LookupError, OverflowError):
        parse(text)
    return True
