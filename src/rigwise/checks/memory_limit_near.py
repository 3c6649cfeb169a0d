"""The memory limit of the container is nearly reached.

What: the control group of this shell or container uses nearly all the memory it may.
Why: at the limit the kernel ends a process of the group: loader workers die, although the machine has RAM left.
How to tell: the smallest limit above this process against what its group uses, without page cache that is easily
given up; or `docker stats`, which counts the same.
"""

import math
from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.rig import Rig
from rigwise.speech import say
from rigwise.units import memory, percent

NEAR_RATIO = 0.9
"""Our choice: one more loader worker takes the rest."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A warning for each group with little left."""
    uses = rig.container_engine.memory_uses
    for one in uses.value or ():
        if one.used_bytes >= NEAR_RATIO * one.limit_bytes > 0:
            inspect = f"docker inspect --format '{{{{.HostConfig.Memory}}}}' {one.name}"
            yield Problem(f"{one.name}: {_because(one.used_bytes, one.limit_bytes)}", (uses,), (inspect,))
    if uses.present and not rig.memory.limit_bytes.present:
        uses.need()
        return
    limit = rig.memory.limit_bytes.need()
    if math.isinf(limit) or limit <= 0:
        return
    used = rig.memory.limited_used_bytes.need()
    if used >= NEAR_RATIO * limit:
        yield Problem(_because(used, limit), (rig.memory.limit_bytes, rig.memory.limited_used_bytes))


def _because(used: float, limit: float) -> str:
    return say(
        "{used} of {limit} ({share}) are used.", used=memory(used), limit=memory(limit), share=percent(used / limit)
    )
