"""A GPU's power limit was lowered.

What: the enforced power limit is below the card's default.
Why: often done on purpose, for stability or a laptop's supply; it costs some speed under full load.
How to tell: the enforced limit against the default limit, both from the card.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.gpu import Gpu
from rigwise.records.rig import Rig
from rigwise.speech import say
from rigwise.units import significant

TOLERANCE_WATTS = 1.0
"""The driver rounds limits to whole watts on some cards."""


def check_gpu(gpu: Gpu, rig: Rig) -> Iterator[Problem]:
    """A note when the limit was lowered."""
    limit, default = gpu.power_limit_enforced_watts.need(), gpu.power_limit_default_watts.need()
    if default - limit > TOLERANCE_WATTS:
        because = say(
            "The limit is {limit} W, the default {default} W.", limit=significant(limit), default=significant(default)
        )
        yield Problem(because, (gpu.power_limit_enforced_watts, gpu.power_limit_default_watts))
