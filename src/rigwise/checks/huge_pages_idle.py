"""Much RAM is reserved as huge pages that nobody uses.

What: a large share of RAM is set aside as huge pages, and most of them are free.
Why: ordinary programs and the page cache cannot have it: the machine seems short of RAM without any process using it.
How to tell: free huge pages in /proc/meminfo against all RAM. Databases and virtual machines use theirs.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.rig import Rig
from rigwise.speech import say
from rigwise.units import memory, percent

LARGE_RATIO = 0.25
"""Our choice: a quarter of the machine."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A note when a large share idles."""
    idle, total = rig.memory.huge_pages_idle_bytes.need(), rig.host.ram_total_bytes.need()
    if idle >= LARGE_RATIO * total:
        because = say(
            "{idle} ({share} of RAM) are reserved as huge pages and idle.",
            idle=memory(idle),
            share=percent(idle / total),
        )
        yield Problem(because, (rig.memory.huge_pages_idle_bytes, rig.host.ram_total_bytes))
