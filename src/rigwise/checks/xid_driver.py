"""The driver or the GPU's firmware stopped working.

What: an Xid about the driver, its GSP firmware or a micro-controller (62, 109, 119, 120, 143, 158 ...) began a burst.
Why: the GPU mostly needs a reset, and every program on it waits or ends.
How to tell: Xid lines of the kernel log, grouped per GPU. Xid 154 is no cause: it names the recovery that the driver
asks for.
"""

from collections.abc import Iterator

from rigwise.knowledge.xid_problems import xid_problems
from rigwise.knowledge.xids import XidFamily
from rigwise.records.finding import Problem
from rigwise.records.rig import Rig


def check_rig(rig: Rig) -> Iterator[Problem]:
    """One problem for each GPU whose driver or firmware began a burst of Xids."""
    yield from xid_problems(rig, XidFamily.DRIVER)
