"""An NVLink reported an error.

What: an Xid about NVLink (74, 136, 144 to 150, 155 ...) began a burst.
Why: a fatal one ends every program on the GPUs of that link; many others are harmless and say so in their registers.
How to tell: Xid lines of the kernel log; the registers of 144 to 150 are decoded by knowledge/nvlink5.csv. Where these
lines are missing, Xid 45 still names them: a cause that ended channels on several GPUs was fatal to the link.
"""

from collections.abc import Iterator

import msgspec

from rigwise.knowledge.xid_problems import xid_problems
from rigwise.knowledge.xids import XidFamily
from rigwise.records.finding import Problem, Severity
from rigwise.records.rig import Rig

ENDED_BY = "caused by previous Xid"


def check_rig(rig: Rig) -> Iterator[Problem]:
    """One problem for each GPU whose NVLink began a burst of Xids."""
    found = tuple(xid_problems(rig, XidFamily.NVLINK))
    ended = [problem for problem in found if problem.severity is Severity.WARNING and _ended_channels(problem)]
    for problem in found:
        fatal = len(ended) > 1 and problem in ended
        yield msgspec.structs.replace(problem, severity=Severity.SERIOUS, action="") if fatal else problem


def _ended_channels(problem: Problem) -> bool:
    return any(ENDED_BY in str(reading.value) for reading in problem.readings)
