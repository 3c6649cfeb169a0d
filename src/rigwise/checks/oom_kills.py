"""The kernel has ended processes for want of memory.

What: since boot the kernel ran out of RAM, or a container reached its limit, and a process was ended.
Why: a loader worker that disappears, or a run that ends with "Killed", is explained by it.
How to tell: `oom_kill` of /proc/vmstat. It counts since boot, so it may be long ago; the kernel log says which process
and when.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.rig import Rig
from rigwise.speech import say


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A note when there was any."""
    count = rig.memory.oom_kills.need()
    if count > 0:
        because = say("Processes ended by the kernel since boot: {count}.", count=count)
        yield Problem(because, (rig.memory.oom_kills,))
