"""An NVSwitch reported a fatal error.

What: a fatal SXid of the NVSwitch driver or of the fabric manager.
Why: the NVLink connections through that switch are down until it, or the machine, is reset.
How to tell: the word in the line itself; where it has none, knowledge/sxids.csv.
"""

from collections.abc import Iterator

from rigwise.knowledge.sxids import sxid_problems
from rigwise.records.finding import Problem
from rigwise.records.rig import Rig


def check_rig(rig: Rig) -> Iterator[Problem]:
    """One problem for each switch with a fatal error."""
    yield from sxid_problems(rig, fatal=True)
