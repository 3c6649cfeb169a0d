"""Events of the kernel log and the fabric manager's log, in order, with what only the lines around them tell."""

import re
from collections.abc import Sequence
from itertools import pairwise, takewhile

import msgspec

from rigwise.knowledge.source_code import is_source
from rigwise.probes.kernel.kernel_lines import line_event, told_event
from rigwise.probes.kernel.log_times import log_seconds
from rigwise.records.evidence import Quote, Status
from rigwise.records.kernel_events import KERNEL_LOG, EventKind, LogEvent, pci_address
from rigwise.records.reading import Reading
from rigwise.sources.source import Source

FABRIC_MANAGER_LOG = "/var/log/fabricmanager.log"
TOLD = "program output"
LINES_BACK = 3
"""A message of several lines has its time, and the address of its GPU, at most so many lines further up."""
TRACE_LINES = 80
"""As many lines of a stack trace are searched for the driver's name."""
FRAMES_BACK = 20
"""Where a log ends at the hung task, the trace of the one before is taken: so many lines above."""
NETWORK_FILE_SYSTEM = re.compile(r"\[(nfs|lustre|ceph|cifs|beegfs|gpfs|mmfslinux|afs)(?:v\d)?\]\s*$")
"""The module of a frame: `nfs_file_flush+0x46/0x60 [nfs]`."""
DEVICE_LINES = 3
"""AER names the device's vendor within so many lines."""
PROBE_SECONDS = 10.0
"""The driver probes its cards before it writes that it is loaded: failures just above that line are of this start."""
OF_THE_DRIVER = frozenset({EventKind.XID, EventKind.SXID})
"""Only a loaded driver reports them, so what stands above its load is from the load before."""
OF_THE_PROBE = frozenset({EventKind.FALLEN, EventKind.INIT_FAILED, EventKind.POWER})
"""A driver reports them while it loads, too."""


def read_log_events(source: Source, log: Reading[tuple[str, ...]]) -> Reading[tuple[LogEvent, ...]]:
    """What was reported, oldest first, log by log; the kernel log's absence where nothing reports anything."""
    fabric = source.file(FABRIC_MANAGER_LOG)
    fabric_lines = fabric.text.splitlines() if fabric.status is Status.OK else None
    told = told_events(source.program_output().text)
    if fabric_lines is None and log.value is None and not told:
        return log_without_events(log)
    events = log_events(log.value or ()) + told
    quote = log.quote
    if fabric_lines is None and log.value is None:
        return Reading(TOLD, events, Status.OK, Quote(TOLD, told[0].line))
    if fabric_lines is not None:
        events += log_events(fabric_lines, FABRIC_MANAGER_LOG)
        quote = quote if log.present else Quote(FABRIC_MANAGER_LOG, f"{len(fabric_lines)} lines")
    return Reading(KERNEL_LOG if log.present else "fabric manager log", events, Status.OK, quote)


def told_events(output: str) -> tuple[LogEvent, ...]:
    """The Xids that the output of device plugins and monitors passes on."""
    events = (told_event(line) for line in output.splitlines())
    return tuple(
        msgspec.structs.replace(event, origin=TOLD)
        for event in events
        if event is not None and not is_source(event.line, 0)
    )


def log_without_events(log: Reading[tuple[str, ...]]) -> Reading[tuple[LogEvent, ...]]:
    """The absence of a log as the absence of its events."""
    return Reading(log.name, None, log.status, log.quote, log.return_code)


def log_events(lines: Sequence[str], origin: str = KERNEL_LOG) -> tuple[LogEvent, ...]:
    """Every event of a log, oldest first.

    >>> [event.seconds for event in log_events(["[ 2.5] NVRM: Xid (PCI:0000:41:00): 13, x", "hello"])]
    [2.5]
    """
    events = [
        _in_context(event, lines, number, origin)
        for number, line in enumerate(lines)
        if (event := line_event(line)) is not None
    ]
    return _with_past(events[::-1] if _newest_first(events) else events)


def _in_context(event: LogEvent, lines: Sequence[str], number: int, origin: str) -> LogEvent:
    """The event with what the lines around it tell: its time, its GPU, and whether the driver is involved."""
    seconds, address, nvidia = log_seconds(event.line), event.address, event.nvidia
    if seconds is None:
        seconds = next((when for line in _above(lines, number) if (when := log_seconds(line)) is not None), None)
    if event.kind is EventKind.FALLEN and not address:
        address = next((at for line in _above(lines, number) if "NVRM" in line and (at := pci_address(line))), "")
    file_system = ""
    if event.kind is EventKind.HUNG_TASK:
        trace = _trace(lines, number)
        nvidia = "nvidia" in event.subject or _names_driver(trace)
        file_system = _file_system(trace if _has_frames(trace) else lines[max(0, number - FRAMES_BACK) : number])
    if event.kind is EventKind.AER:
        nvidia = nvidia or any("[10de:" in line for line in lines[number + 1 : number + 1 + DEVICE_LINES])
    return msgspec.structs.replace(
        event, seconds=seconds, address=address, nvidia=nvidia, file_system=file_system, origin=origin
    )


def _above(lines: Sequence[str], number: int) -> Sequence[str]:
    """The lines just above one, the nearest first."""
    return lines[max(0, number - LINES_BACK) : number][::-1]


def _trace(lines: Sequence[str], number: int) -> list[str]:
    """What stands below a hung task, up to the next one."""
    below = lines[number + 1 : number + 1 + TRACE_LINES]
    return list(takewhile(lambda line: "blocked for more" not in line, below))


def _has_frames(trace: Sequence[str]) -> bool:
    """Whether it is more than its heading."""
    return any("+0x" in line for line in trace)


def _file_system(trace: Sequence[str]) -> str:
    """The file system of the network whose functions a trace goes through; "" for none."""
    return next((found[1] for line in trace if (found := NETWORK_FILE_SYSTEM.search(line))), "")


def _names_driver(trace: Sequence[str]) -> bool:
    """Whether a trace goes through NVIDIA's modules; where it is cut, whether they are loaded."""
    if any("[nvidia" in line for line in trace):
        return True
    is_cut = not any("RIP:" in line or "Call Trace" in line or "Call trace" in line for line in trace)
    return is_cut and any("Modules linked in:" in line and " nvidia" in line for line in trace)


def _newest_first(events: Sequence[LogEvent]) -> bool:
    """Whether the log was printed backwards (journalctl -r); a machine that starts again sets its clock back once."""
    timed = [event for event in events if event.seconds is not None and event.kind is not EventKind.BOOT]
    steps = [(later.seconds or 0.0) - (earlier.seconds or 0.0) for earlier, later in pairwise(timed)]
    backwards = sum(step < 0 for step in steps)
    return backwards > max(1, sum(step > 0 for step in steps))


def _with_past(events: Sequence[LogEvent]) -> tuple[LogEvent, ...]:
    """The events, each with whether the machine or the driver was started again after it."""
    marked: list[LogEvent] = []
    start: LogEvent | None = None
    for event in reversed(events):
        past = start is not None and _precedes(event, start)
        marked.append(msgspec.structs.replace(event, past=past))
        if event.kind is EventKind.BOOT or (event.kind is EventKind.DRIVER_LOADED and start is None):
            start = event
    return tuple(reversed(marked))


def _precedes(event: LogEvent, start: LogEvent) -> bool:
    """Whether an event above the line of a start belongs to the time before it."""
    if start.kind is EventKind.BOOT or event.kind in OF_THE_DRIVER:
        return True
    if event.kind not in OF_THE_PROBE:
        return False
    if event.seconds is None or start.seconds is None:
        return False
    return not 0 <= start.seconds - event.seconds <= PROBE_SECONDS
