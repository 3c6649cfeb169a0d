"""A GPU runs at its power limit.

What: the GPU draws as much as its limit allows.
Why: normal under full load, and the last percents cost the most power; where a machine is not stable, a lower limit
takes the load off its supply for little speed.
How to tell: draw against the enforced limit while the GPU is busy and the power cap is active.
"""

from collections.abc import Iterator

from rigwise.knowledge.clock_event_reasons import clock_event_reasons
from rigwise.records.finding import Problem
from rigwise.records.gpu import Gpu
from rigwise.records.rig import Rig
from rigwise.speech import say
from rigwise.units import significant

CAP = next(reason.bit for reason in clock_event_reasons() if reason.name == "sw_power_cap")
PINNED_RATIO = 0.97
"""Our choice: a card at its limit swings by some percent around it."""
BUSY_UTILIZATION_RATIO = 0.9
PROPOSED_RATIO = 0.85
"""Our choice, inside the range of 80 to 90 % that people report as nearly free of cost."""


def check_gpu(gpu: Gpu, rig: Rig) -> Iterator[Problem]:
    """A note with the limit that would take the load off."""
    if gpu.gpu_utilization_ratio.need() < BUSY_UTILIZATION_RATIO or not gpu.clocks_event_reasons.need() & CAP:
        return
    draw, limit = gpu.power_draw_watts.need(), gpu.power_limit_enforced_watts.need()
    if draw < PINNED_RATIO * limit:
        return
    proposed = round(max(PROPOSED_RATIO * limit, gpu.power_limit_min_watts.value_or(0.0)))
    because = say(
        "It draws {draw} W of the {limit} W that its limit allows.", draw=significant(draw), limit=significant(limit)
    )
    steps = (f"sudo nvidia-smi -i {gpu.index} -pl {proposed}   # only where the machine is not stable",)
    yield Problem(because, (gpu.power_draw_watts, gpu.power_limit_enforced_watts), next_steps=steps)
