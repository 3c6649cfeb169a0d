"""The driver reported a fault of the board, its slot or its power.

What: an Xid of this family (54, 167, 165 ...) began a burst; Xid 79 too, when the GPU answers again.
Why: power plugs, risers and slots fail more often than chips, and only hands can mend them.
How to tell: Xid lines of the kernel log, grouped per GPU; knowledge/xids.csv says which code belongs here.
"""

from collections.abc import Iterator

from rigwise.knowledge.xid_problems import xid_problems
from rigwise.knowledge.xids import XidFamily
from rigwise.records.finding import Problem
from rigwise.records.rig import Rig


def check_rig(rig: Rig) -> Iterator[Problem]:
    """One problem for each GPU whose board or power began a burst of Xids."""
    yield from xid_problems(rig, XidFamily.HARDWARE)
