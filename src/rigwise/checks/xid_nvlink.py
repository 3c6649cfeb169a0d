"""An NVLink reported an error.

What: an Xid about NVLink (74, 136, 144 to 150, 155 ...) began a burst.
Why: a fatal one ends every program on the GPUs of that link; many others are harmless and say so in their registers.
How to tell: Xid lines of the kernel log; the registers of 144 to 150 are decoded by knowledge/nvlink5.csv.
"""

from collections.abc import Iterator

from rigwise.knowledge.xid_problems import xid_problems
from rigwise.knowledge.xids import XidFamily
from rigwise.records.finding import Problem
from rigwise.records.rig import Rig


def check_rig(rig: Rig) -> Iterator[Problem]:
    """One problem for each GPU whose NVLink began a burst of Xids."""
    yield from xid_problems(rig, XidFamily.NVLINK)
