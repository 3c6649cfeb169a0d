"""A program's own fault was reported by the driver.

What: an Xid of the kind a program causes (13, 31, 43, 45, 68, 69 ...) began a burst.
Why: it looks like broken hardware and rarely is: an illegal address, a wrong build, a program that was ended.
How to tell: Xid lines of the kernel log, when nothing graver began the burst. None of these codes alone is a reason to
replace a card.
"""

from collections.abc import Iterator

from rigwise.knowledge.xid_problems import xid_problems
from rigwise.knowledge.xids import XidFamily
from rigwise.records.finding import Problem
from rigwise.records.rig import Rig


def check_rig(rig: Rig) -> Iterator[Problem]:
    """One problem for each GPU whose programs began a burst of Xids."""
    yield from xid_problems(rig, XidFamily.APPLICATION)
