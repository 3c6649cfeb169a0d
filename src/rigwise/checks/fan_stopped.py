"""A hot GPU's fan stands still.

What: the fan is at 0 % while the core is near its slowdown temperature.
Why: the fan, its cable or its control has failed; the card will slow down or switch off.
How to tell: fan speed, temperature and slowdown temperature of the same moment. Many cards stop the fan while cool.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.gpu import Gpu
from rigwise.records.rig import Rig
from rigwise.speech import say

MARGIN_CELSIUS = 20
"""Our choice: cards that may stop their fan start it again at 50 to 60 C, some 35 C below the slowdown temperature."""


def check_gpu(gpu: Gpu, rig: Rig) -> Iterator[Problem]:
    """A warning when the fan does not answer to heat."""
    if gpu.fan_ratio.need() > 0:
        return
    now, slowdown = gpu.temperature_celsius.need(), gpu.temperature_slowdown_celsius.need()
    if now >= slowdown - MARGIN_CELSIUS:
        because = say("The fan is at 0 % although the core is at {now} °C.", now=now)
        yield Problem(because, (gpu.fan_ratio, gpu.temperature_celsius, gpu.temperature_slowdown_celsius))
