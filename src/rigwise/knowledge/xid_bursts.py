"""First cause, not last symptom: Xids of one GPU grouped into bursts, each with the one that began it.

A burst ends with three minutes of silence. Its root is the first Xid that does not follow from others. A fault of the
memory, the links or the board is the root even when a program's fault was logged first, and so is broken firmware after
it: such faults break programs, programs do not break cards.
"""

import re
from collections import deque
from collections.abc import Sequence
from functools import lru_cache
from itertools import takewhile

import msgspec

from rigwise.knowledge.xids import XidFamily, XidRole, XidRow, XidSeverity, nvlink5, xid
from rigwise.records.kernel_events import EventKind, LogEvent
from rigwise.speech import say

SILENCE_SECONDS = 180.0
BEFORE_SECONDS = 60.0
MAX_BEFORE = 3
"""As many lines of the minute before are shown."""
SEVERITIES = tuple(XidSeverity)
BREAKS_PROGRAMS = frozenset({XidFamily.MEMORY, XidFamily.NVLINK, XidFamily.HARDWARE})
TROUBLE = frozenset(
    {EventKind.AER, EventKind.LINK_DOWN, EventKind.POWER, EventKind.THERMAL, EventKind.MACHINE_CHECK, EventKind.IOMMU}
)
"""What may bring a GPU down, when it is reported just before."""
RECOVERY = 154
ASKS_FOR_A_RESET = (1, 2, 4, 6, 7)
"""Of NVML's recovery actions, those without which the GPU or the machine is of no use."""
CONTEXT_SWITCH = 109
"""It needs a reset like broken firmware, but a program that never yields brings it about too."""
IDLE_TIMEOUT = 8
"""It tells that the GPU stopped and not why, so whatever is logged with it comes first."""
NVLINK4 = 74
NVLINK5 = range(144, 151)
_CAUSED_BY = re.compile(r"caused by previous Xid (\d{1,3})\b")
_RECOVERY = re.compile(r"recovery action changed (?:from 0x\d \([^)]{0,40}\) )?to (?:0x(?P<number>\d))?", re.IGNORECASE)


class Burst(msgspec.Struct, frozen=True, kw_only=True):
    """Xids of one GPU without a longer silence between them."""

    root: LogEvent
    row: XidRow
    """What the root means; for a follower alone, what the Xid means that it names as its cause."""
    severity: XidSeverity
    events: tuple[LogEvent, ...]
    before: tuple[LogEvent, ...]
    """Other trouble in the minute before the root."""
    recovery: int | None
    """What the driver asks for in the end: 0 nothing, 1 a reset, 2 or 7 a restart, 3 to drain P2P, 4 to drain and
    reset, 5 to recover the IMEX domain, 6 a reset of the bus."""

    @property
    def past(self) -> bool:
        """Whether the machine or the driver was started again since."""
        return self.root.past


@lru_cache(maxsize=1)
def bursts(events: tuple[LogEvent, ...], driver_version: str = "") -> tuple[Burst, ...]:
    """Every burst, in the order they began. Remembered, for five checks in a row ask about the same log."""
    begun: list[tuple[list[LogEvent], tuple[LogEvent, ...]]] = []
    last: dict[str, list[LogEvent]] = {}
    trouble: deque[LogEvent] = deque(maxlen=MAX_BEFORE)
    for event in events:
        if event.kind in TROUBLE:
            trouble.append(event)
        if event.kind is not EventKind.XID:
            continue
        group = last.get(event.address)
        if group is None or _silence_between(group[-1], event):
            group = last[event.address] = []
            begun.append((group, tuple(trouble)))
        group.append(event)
    return tuple(_burst(group, before, driver_version) for group, before in begun)


def row_of(event: LogEvent, driver_version: str = "") -> XidRow:
    """What an Xid means; one newer than the tables is named by its number."""
    code = event.code or 0
    return xid(code, driver_version) or _unlisted(code)


def _silence_between(earlier: LogEvent, later: LogEvent) -> bool:
    if earlier.past != later.past:
        return True
    if earlier.seconds is None or later.seconds is None:
        return False
    return not -1.0 <= later.seconds - earlier.seconds <= SILENCE_SECONDS


def _burst(group: Sequence[LogEvent], trouble: Sequence[LogEvent], driver_version: str) -> Burst:
    rows = {event.code: row_of(event, driver_version) for event in group}
    root = _root(group, rows)
    row = rows[root.code]
    cause = _CAUSED_BY.search(root.line)
    if cause and row.role is XidRole.FOLLOWER:
        row = xid(int(cause[1]), driver_version) or row
    recovery = recovery_in(group)
    own = [_severity(event, rows[event.code]) for event in group if rows[event.code].family is row.family]
    if recovery in ASKS_FOR_A_RESET:
        own.append(XidSeverity.SERIOUS)
    return Burst(
        root=root,
        row=row,
        severity=max((row.severity if cause else XidSeverity.BENIGN, *own), key=SEVERITIES.index),
        events=tuple(group),
        before=_just_before(root, trouble),
        recovery=recovery,
    )


def _root(group: Sequence[LogEvent], rows: dict[int | None, XidRow]) -> LogEvent:
    by_role = [[event for event in group if rows[event.code].role is role] for role in XidRole]
    candidates = next(events for events in by_role if events)
    return min(candidates, key=lambda event: _depth(event, rows[event.code]))


def _depth(event: LogEvent, row: XidRow) -> int:
    """How far down a fault lies: 0 the hardware, 1 driver and firmware, 2 where time tells, more where little does."""
    severity = _severity(event, row)
    if severity in (XidSeverity.BENIGN, XidSeverity.NOTE):
        return 4
    if row.code == IDLE_TIMEOUT:
        return 3
    if row.role is not XidRole.ROOT:
        return 2
    if row.family in BREAKS_PROGRAMS:
        return 0
    broken = row.family is XidFamily.DRIVER and severity is XidSeverity.SERIOUS and row.code != CONTEXT_SWITCH
    return 1 if broken else 2


def _severity(event: LogEvent, row: XidRow) -> XidSeverity:
    """How much one line matters: NVLink's lines say more than their code."""
    if row.code in NVLINK5:
        decoded = nvlink5(row.code, event.line)
        if decoded:
            return decoded.severity
        return XidSeverity.SERIOUS if re.search(r"\bFatal\b", event.line) else row.severity
    if row.code == NVLINK4 and re.search(r"(?<!non-)\bfatal error", event.line, re.IGNORECASE):
        return XidSeverity.SERIOUS
    return row.severity


def recovery_in(events: Sequence[LogEvent]) -> int | None:
    """The number of the last recovery action that Xid 154 names; None where it names none.

    >>> line = "NVRM: Xid (PCI:...): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"
    >>> recovery_in([LogEvent(kind=EventKind.XID, code=154, line=line)])
    1
    """
    found = [_RECOVERY.search(event.line) for event in events if event.code == RECOVERY]
    numbers = [int(one["number"]) for one in found if one and one["number"]]
    return numbers[-1] if numbers else None


def trouble_before(event: LogEvent, events: Sequence[LogEvent]) -> tuple[LogEvent, ...]:
    """Trouble with links, power, heat or memory in the minute before an event, the last of it."""
    above = takewhile(lambda other: other is not event, events)
    return _just_before(event, [other for other in above if other.kind in TROUBLE][-MAX_BEFORE:])


def _just_before(event: LogEvent, trouble: Sequence[LogEvent]) -> tuple[LogEvent, ...]:
    """What of it is of the same log and no more than a minute older; nothing where times are missing."""
    now = event.seconds
    if now is None:
        return ()
    same_log = (other for other in trouble if other.origin == event.origin and other.seconds is not None)
    return tuple(other for other in same_log if 0 <= now - (other.seconds or 0.0) <= BEFORE_SECONDS)


def _unlisted(code: int) -> XidRow:
    return XidRow(
        code=code,
        mnemonic="",
        name=say("not in NVIDIA's catalog when rigwise was made"),
        blame=("D",),
        action="",
        family=XidFamily.DRIVER,
        severity=XidSeverity.WARNING,
        role=XidRole.ROOT,
        what_to_do=say("Look the code up in NVIDIA's current catalog."),
        rma="",
        unused=False,
        source="https://docs.nvidia.com/deploy/xid-errors/",
        checked_on="",
    )
