"""NVIDIA's SXid codes, the error reports of an NVSwitch: one row a code in sxids.csv, read once.

Whether an SXid is fatal is said by the log line itself; the table's word counts where the line has none, for one code
may be either on different ports.
"""

import csv
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources

import msgspec

from rigwise.records.finding import Problem, Severity
from rigwise.records.kernel_events import EventKind, LogEvent, events_of
from rigwise.records.rig import Rig
from rigwise.speech import say

FEWEST_THAT_REPEAT = 2
"""NVIDIA's action for a harmless code is to look again if it repeats."""


class SxidRow(msgspec.Struct, frozen=True, kw_only=True):
    """One SXid code."""

    code: int
    name: str
    """NVIDIA's name without `NVSWITCH_ERR_HW_`; "" where none is published."""
    fatal: bool
    action: str
    """What NVSentinel does about it: `RESET_FABRIC`."""
    source: str
    checked_on: str

    @property
    def what_to_do(self) -> str:
        """The action as a sentence."""
        return _actions()[self.action]


@cache
def sxids() -> dict[int, SxidRow]:
    """Every SXid by code."""
    text = resources.files("rigwise.knowledge").joinpath("sxids.csv").read_text(encoding="utf-8")
    rows = [msgspec.convert(row, SxidRow, strict=False) for row in csv.DictReader(text.splitlines())]
    return {row.code: row for row in rows}


def sxid(code: int) -> SxidRow | None:
    """One SXid; None for a code that is not in the table.

    >>> sxid(12028).name, sxid(20001).fatal, sxid(1)
    ('NPORT_EGRESS_PRIVRSPERR', False, None)
    """
    return sxids().get(code)


def sxid_problems(rig: Rig, *, fatal: bool) -> Iterator[Problem]:
    """One problem for each switch that reported errors of this gravity."""
    switches: dict[str, list[LogEvent]] = {}
    for event in events_of(rig.log_events.need(), EventKind.SXID):
        if is_fatal(event) is fatal:
            switches.setdefault(event.address, []).append(event)
    for address, events in switches.items():
        yield _problem(address, [event for event in events if not event.past] or events)


def is_fatal(event: LogEvent) -> bool:
    """What the line says of itself, else what the table says of its code."""
    row = sxid(event.code or 0)
    return event.fatal if event.fatal is not None else row is not None and row.fatal


def _problem(address: str, events: Sequence[LogEvent]) -> Problem:
    rows = [row for event in events if (row := sxid(event.code or 0))]
    row = next((one for one in rows if one.fatal), rows[0] if rows else None)
    lead = next((event for event in events if row and event.code == row.code), events[0])
    because = say(
        "The NVSwitch at {address} reported SXid {codes}; lines in this log: {count}.",
        address=address or say("an unknown address"),
        codes=", ".join(dict.fromkeys(_named(event) for event in events)),
        count=len(events),
    )
    once = len(events) < FEWEST_THAT_REPEAT
    harmless = once and all(one.action == "IGNORE" for one in rows) and bool(rows) and not is_fatal(lead)
    severity = Severity.NOTE if harmless or lead.past else None
    return Problem(because, (lead.reading,), severity=severity, action=row.what_to_do if row and is_fatal(lead) else "")


def _named(event: LogEvent) -> str:
    row = sxid(event.code or 0)
    return f"{event.code} ({row.name})" if row and row.name else f"{event.code}"


@cache
def _actions() -> dict[str, str]:
    reset_fabric = say("Stop the programs, then restart the fabric manager or the machine.")
    report = say("Report it to the maker of the machine, with a bug report of the driver.")
    link = say("Check the cables and seating of the NVLink port that the line names, then reset the GPUs.")
    return {
        "IGNORE": say("Do nothing now; look again if it repeats."),
        "RESET_FABRIC": reset_fabric,
        "RESET_GPU": say("Stop the programs, then reset the GPU at the other end of the link, or restart the machine."),
        "WORKFLOW_NVLINK_POTENTIALLY_FATAL_ERR": reset_fabric,
        "UNEXPECTED_ERR_REPORT_ISSUE": report,
        "REPORT_ISSUE": report,
        "INVESTIGATE_LINK_SI": link,
        "CHECK_LINK_MECHANICAL_CONNECTIONS": link,
        "CHECK_THERMALS": say("Check the cooling of the switch and the air flow of the machine."),
        "CHECK_FM_CONFIG": say("Check the configuration of the fabric manager and its version."),
        "RUN_FIELDDIAG": say("Have the maker of the machine run NVIDIA's field diagnostics."),
    }
