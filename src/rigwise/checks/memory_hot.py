"""A GPU's memory is at its highest operating temperature.

What: the memory's temperature has reached the card's own limit for it.
Why: the driver then lowers the clocks, and memory that hot ages and fails sooner.
How to tell: memory temperature against its highest operating temperature, both from the card.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.gpu import Gpu
from rigwise.records.rig import Rig
from rigwise.speech import say


def check_gpu(gpu: Gpu, rig: Rig) -> Iterator[Problem]:
    """A warning at the limit."""
    now, limit = gpu.temperature_memory_celsius.need(), gpu.temperature_memory_max_celsius.need()
    if now >= limit:
        because = say(
            "The memory is at {now} °C; its highest operating temperature is {limit} °C.", now=now, limit=limit
        )
        yield Problem(because, (gpu.temperature_memory_celsius, gpu.temperature_memory_max_celsius))
