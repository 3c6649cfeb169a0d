"""The CPU or the RAM reported an error.

What: an uncorrected machine check, an uncorrected error of a memory module, or many corrected ones.
Why: a program that computes with wrong data gives wrong results without any message; so may the machine crash.
How to tell: lines of MCE, EDAC and the firmware (APEI) in the kernel log. A few corrected errors are what ECC is for.
"""

import re
from collections.abc import Iterator

from rigwise.records.finding import Problem, Severity
from rigwise.records.kernel_events import EventKind, events_of
from rigwise.records.rig import Rig
from rigwise.speech import say

MANY_CORRECTED = 10
"""mcelog's threshold for a memory module in a day (ce-error-threshold = 10 / 24h in mcelog.conf)."""
STORM = 100
"""Our choice: as many come from a module that fails."""
COUNTED = re.compile(r"EDAC \S{1,8}: (\d{1,9}) CE\b")
"""EDAC counts the errors since its last line."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """Serious for an uncorrected error, a warning for a storm of corrected ones, a note for many."""
    rig.kernel_log.need()
    errors = events_of(rig.log_events.need(), EventKind.MACHINE_CHECK)
    uncorrected = [event for event in errors if event.fatal]
    corrected = [event for event in errors if event.fatal is False and not event.past]
    if uncorrected:
        past = all(event.past for event in uncorrected)
        because = say("Errors of CPU or RAM that could not be corrected, in this log: {count}.", count=len(uncorrected))
        shown = tuple(event.reading for event in uncorrected[:2])
        yield Problem(because, shown, severity=Severity.WARNING if past else None)
    elif (count := sum(_counted(event.line) for event in corrected)) >= MANY_CORRECTED:
        because = say("CPU or RAM had to correct {count} errors.", count=count)
        severity = Severity.WARNING if count >= STORM else Severity.NOTE
        yield Problem(because, tuple(event.reading for event in corrected[:2]), severity=severity)


def _counted(line: str) -> int:
    """How many errors a line stands for."""
    found = COUNTED.search(line)
    return int(found[1]) if found else 1
