"""An NVSwitch reported an error that is not fatal.

What: SXids that the NVSwitch driver or the fabric manager calls non-fatal.
Why: most follow from the end of a program or from a fault of a GPU; one that repeats points to a link.
How to tell: the word in the line itself; a code that NVIDIA says to ignore is only a note, unless
it repeats.
"""

from collections.abc import Iterator

from rigwise.knowledge.sxids import sxid_problems
from rigwise.records.finding import Problem
from rigwise.records.rig import Rig


def check_rig(rig: Rig) -> Iterator[Problem]:
    """One problem for each switch with an error that is not fatal."""
    yield from sxid_problems(rig, fatal=False)
