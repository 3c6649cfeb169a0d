"""The driver lists no GPU.

What: the driver was asked, and lists none.
Why: this is what every other fault of this kind comes down to; alone, its cause is one that rigwise does not know.
How to tell: nvmlDeviceGetCount, or the log of nvidia-smi.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.rig import Rig
from rigwise.speech import say


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A problem when no GPU is listed, whatever the reason."""
    if not rig.lists_gpus():
        yield Problem(say("The driver was asked for its GPUs and named none."), (rig.num_gpus,))
