"""The GPU's memory reported an error.

What: an Xid about ECC errors, row remapping or page retirement (48, 63, 64, 94, 95, 140, 171, 172 ...).
Why: an uncorrected error ends programs or spoils results; a recorded remap is only worth a note; a failed remap is
NVIDIA's criterion for a replacement.
How to tell: Xid lines of the kernel log, grouped per GPU: 48 with 63, 64, 94, 95, 171 and 172 is one story.
"""

from collections.abc import Iterator

from rigwise.knowledge.xid_problems import xid_problems
from rigwise.knowledge.xids import XidFamily
from rigwise.records.finding import Problem
from rigwise.records.rig import Rig


def check_rig(rig: Rig) -> Iterator[Problem]:
    """One problem for each GPU whose memory began a burst of Xids."""
    yield from xid_problems(rig, XidFamily.MEMORY)
