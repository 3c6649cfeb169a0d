"""Lines of kernel logs as they stand in public bug reports and in the kernel's and the driver's source."""

import json
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigwise.knowledge.log_needles import NEEDLES
from rigwise.probes.kernel.kernel_events import FABRIC_MANAGER_LOG, log_events, read_log_events
from rigwise.probes.kernel.kernel_lines import RULES, line_event
from rigwise.probes.kernel.kernel_log import read_kernel_log
from rigwise.probes.kernel.log_times import log_seconds
from rigwise.records.evidence import Evidence, Status
from rigwise.records.kernel_events import EventKind, LogEvent
from rigwise.sources.answers import command_answer, file_answer, kernel_log_answer

XID, AER = EventKind.XID, EventKind.AER

LINES = Path(__file__).with_name("kernel_lines.tsv")
ROWS = [row.split("\t") for row in LINES.read_text(encoding="utf-8").splitlines()[1:]]
REPORTS = [(line, EventKind(kind), json.loads(told)) for kind, told, line in ROWS if kind]
NOTHING = [line for kind, _, line in ROWS if not kind]


@pytest.mark.parametrize(("line", "kind", "told"), REPORTS, ids=lambda value: str(value)[:40])
def test_a_line_that_reports_something(line: str, kind: EventKind, told: dict[str, Any]) -> None:
    event = line_event(line)
    assert event is not None
    assert event.kind is kind
    assert {name: getattr(event, name) for name in told} == told


@pytest.mark.parametrize("line", NOTHING, ids=lambda line: line[:40])
def test_a_line_that_reports_nothing(line: str) -> None:
    assert line_event(line) is None


def test_every_rule_has_a_sample() -> None:
    unused = [
        rule for rule in RULES if not any(rule.literal in line and rule.pattern.search(line) for line, *_ in REPORTS)
    ]
    assert not unused


def test_the_needles_find_every_line_that_reports_something() -> None:
    assert [line for line, *_ in REPORTS if not any(needle in line.encode() for needle in NEEDLES)] == []
    assert all(
        any(needle in line.encode() for line, *_ in REPORTS) for needle in NEEDLES if needle not in OTHER_NEEDLES
    )


OTHER_NEEDLES = tuple(b"nouveau|module|NVIDIA|[10de:|: BAR |file-max|mlx5_core|infiniband|efa ".split(b"|"))
"""For lines that say more about the line above, and for those that other checks read in the kernel log itself."""

XID_LINE = "NVRM: Xid (PCI:0000:41:00): 79, pid=7, GPU has fallen off the bus."
STYLES = {
    "[ 7211.604409] {line}": 7211.604409,
    "<4>[ 7211.604409] {line}": 7211.604409,
    "[ 7211,604409] {line}": 7211.604409,
    "4,3964,7211604409,-;{line}": 7211.604409,
    "kern  :warn  : [ 7211.604409] {line}": 7211.604409,
    "kern  :warn  : 2025-01-21T04:41:44,283302+00:00 {line}": 1737434504.283302,
    "2025-01-21T04:41:44,283302+00:00 {line}": 1737434504.283302,
    "2025-01-21T05:41:44.283302+0100 host kernel: {line}": 1737434504.283302,
    "2025-01-21T04:41:44Z node-3 kernel: {line}": 1737434504.0,
    "10.0.0.7: kern: warning: [2025-01-21T04:41:44.283302123Z]: {line}": 1737434504.283302123,
    "gpu-pod-7 | 2025-01-21 04:41:44 {line}": 1737434504.0,
    "[Tue Jan 21 04:41:44 2025] {line}": 1737434504.0,
    "[Di Jan 21 04:41:44 2025] {line}": 1737434504.0,
    "[Jan 21 2025 04:41:44] [ERROR] {line}": 1737434504.0,
    "1737434504.283302 host kernel: {line}": 1737434504.283302,
    "{line}": None,
    "kernel: {line}": None,
}


@pytest.mark.parametrize(("style", "seconds"), STYLES.items(), ids=lambda value: str(value)[:40])
def test_every_style_of_time(style: str, seconds: float | None) -> None:
    (event,) = log_events([style.format(line=XID_LINE)])
    assert (event.kind, event.code, event.address) == (XID, 79, "0000:41:00")
    assert event.seconds == pytest.approx(seconds)


@pytest.mark.parametrize("month", ["Jan", "jan.", "März", "mars", "Abr", "mai", "juil.", "août", "Okt", "Dez", "déc."])
def test_syslog_writes_months_in_every_language(month: str) -> None:
    first, second = log_seconds(f"{month} 9 13:02:44 host kernel: x"), log_seconds(f"{month} 9 13:03:44 host kernel: x")
    assert first is not None
    assert second == first + 60


def test_a_date_that_does_not_exist_is_no_time() -> None:
    assert log_seconds("2025-13-41T99:00:00 x") is None
    assert log_seconds("Foo 99 12:00:00 x") is None


LOST_WITHOUT_XID = """
[ 1843.308145] NVRM: The NVIDIA GPU 0000:b3:00.0
               NVRM: (PCI ID: 10de:26b5) installed in this system has
               NVRM: fallen off the bus and is not responding to commands.
[ 1843.439662] NVRM: The NVIDIA probe routine failed for 1 device(s).
[ 1843.439669] NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.158.01  Release Build
"""


def test_a_message_of_several_lines_has_the_address_and_time_of_its_first() -> None:
    fallen, loaded = log_events(LOST_WITHOUT_XID.splitlines())
    assert (fallen.kind, fallen.address, fallen.seconds) == (EventKind.FALLEN, "0000:b3:00", 1843.308145)
    assert loaded.kind is EventKind.DRIVER_LOADED
    assert not fallen.past


def test_what_stands_before_a_start_is_past() -> None:
    log = [
        "[ 900.0] NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.",
        "[ 0.0] Linux version 6.8.0 (x)",
        "[ 2.0] pcieport 0000:00:03.1: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer",
        "[ 5.0] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu",
        "[ 50.0] NVRM: Xid (PCI:0000:41:00): 31, x",
        "[ 60.0] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu",
        "[ 70.0] NVRM: Xid (PCI:0000:41:00): 13, x",
    ]
    told = {(event.kind, event.code): event.past for event in log_events(log)}
    assert told[(XID, 79)]
    assert told[(XID, 31)]
    assert not told[(XID, 13)]
    assert not told[(AER, None)]


def test_a_log_printed_backwards_is_turned_round() -> None:
    lines = [f"[ {second}.0] NVRM: Xid (PCI:0000:41:00): {second}, x" for second in (9, 8, 7)]
    assert [event.code for event in log_events(lines)] == [7, 8, 9]


def test_a_hung_task_in_the_driver_is_told_from_one_elsewhere() -> None:
    head = "INFO: task python:15277 blocked for more than 120 seconds."
    trace = ["Call Trace:", " __schedule+0x23d/0x590", " uvm_gpu_retain_by_uuid+0x1e/0x40 [nvidia_uvm]"]
    inside, outside = log_events([head, *trace, head, "Call Trace:", " nfs_wait+0x1/0x2 [nfs]"])
    assert (inside.nvidia, outside.nvidia) == (True, False)


def test_aer_of_a_card_of_nvidia_is_known_by_the_line_below() -> None:
    line = "pcieport 0000:41:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)"
    ours, other = log_events([line, "  device [10de:2684] error status/mask=1/0", line, "  device [8086:9d13] error"])
    assert (ours.nvidia, other.nvidia) == (True, False)


class TwoLogs:
    """A source that holds a kernel log, a fabric manager log, or neither."""

    name = "two logs"

    def __init__(self, kernel: str | None, fabric: str | None) -> None:
        self._kernel, self._fabric = kernel, fabric

    def kernel_log(self) -> Evidence:
        status = Status.NOT_PERMITTED if self._kernel is None else Status.OK
        return kernel_log_answer(command_answer("dmesg", status, self._kernel or ""))

    def file(self, path: str) -> Evidence:
        there = path == FABRIC_MANAGER_LOG and self._fabric is not None
        return file_answer(path, Status.OK if there else Status.NOT_FOUND, self._fabric or "")

    def program_output(self) -> Evidence:
        return command_answer("program output", Status.NOT_RECORDED, "")

    def events(self) -> Any:
        return read_log_events(self, read_kernel_log(self))  # type: ignore[arg-type]


FABRIC = (
    "[Feb 27 2025 15:10:02] [ERROR] [tid 7] detected NVSwitch fatal error 20034 on fid 0 pci bus id 00000000:86:00.0"
)


def test_both_logs_are_read_and_neither_stands_for_the_other() -> None:
    both = TwoLogs(XID_LINE, FABRIC).events()
    assert [(event.code, event.origin) for event in both.need()] == [(79, "kernel log"), (20034, FABRIC_MANAGER_LOG)]
    assert both.need()[1].reading.quote.source == FABRIC_MANAGER_LOG
    assert TwoLogs(None, FABRIC).events().quote.source == FABRIC_MANAGER_LOG
    assert TwoLogs(None, None).events().status is Status.NOT_PERMITTED
    assert TwoLogs("", None).events().need() == ()


@given(st.lists(st.text(max_size=200), max_size=8))
def test_any_text_is_survived(lines: list[str]) -> None:
    assert all(event.line in lines for event in log_events(lines))


@given(st.sampled_from([line for line, *_ in REPORTS]), st.integers(0, 120), st.text(max_size=10))
def test_a_cut_or_garbled_report_is_survived(line: str, length: int, junk: str) -> None:
    event = line_event(line[:length] + junk)
    assert event is None or event.kind in EventKind


HOSTILE = (
    "Xid (" * 100_000,
    "NVRM: Xid (PCI:" + "0" * 500_000,
    "segfault at " + " in lib" * 100_000,
    "traps: " + "a" * 500_000,
    "Killed process 1 (" + "x" * 500_000,
    "oom-kill:constraint=CONSTRAINT_MEMCG" + "," * 500_000,
    "blocked for more " + "task :1" * 100_000,
    "0000:" * 100_000 + "fallen off the bus",
    "NVRM: " * 100_000 + "from GSP",
    "peermem " * 100_000,
)


@pytest.mark.parametrize("line", HOSTILE, ids=lambda line: line[:20])
def test_no_line_takes_long(line: str) -> None:
    began = time.perf_counter()
    log_events([line])
    assert time.perf_counter() - began < 2.0


def test_a_long_log_is_read_in_little_time() -> None:
    quiet = "Nov 30 13:02:44 host kernel: IPv6: ADDRCONF(NETDEV_CHANGE): cali21960952cd0: link becomes ready"
    flood = "Nov 30 13:02:44 host kernel: pcieport 0000:00:1c.5: PCIe Bus Error: severity=Corrected, type=Physical"
    began = time.perf_counter()
    events = log_events([quiet, quiet, flood] * 15_000)
    assert time.perf_counter() - began < 5.0
    assert len(events) == 15_000
    assert all(earlier.seconds == later.seconds for earlier, later in pairwise(events))
    assert isinstance(events[0], LogEvent)
