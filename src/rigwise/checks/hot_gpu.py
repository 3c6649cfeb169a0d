"""A GPU is at the temperature at which its hardware slows it.

What: the core temperature has reached the card's own slowdown temperature, or is just below it.
Why: at that temperature the clocks are cut at least by half, and every measurement taken then is worthless.
How to tell: temperature against the slowdown threshold, both from the card. 85 C is normal on some cards and hot on
others, so no fixed number is used.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem, Severity
from rigwise.records.gpu import Gpu
from rigwise.records.rig import Rig
from rigwise.speech import say

MARGIN_CELSIUS = 3
"""Our choice. Between the highest operating and the slowdown temperature nvidia-smi -q shows 2 C (RTX 3080: 93 and
95), 4 C (A100: 85 and 89) and 8 C (T4: 85 and 93); nearer than 3 C is not normal operation on any of them."""


def check_gpu(gpu: Gpu, rig: Rig) -> Iterator[Problem]:
    """A warning just below the slowdown temperature, serious at it."""
    now, slowdown = gpu.temperature_celsius.need(), gpu.temperature_slowdown_celsius.need()
    if now < slowdown - MARGIN_CELSIUS:
        return
    because = say("The core is at {now} °C; the hardware slows it at {slowdown} °C.", now=now, slowdown=slowdown)
    readings = (gpu.temperature_celsius, gpu.temperature_slowdown_celsius, gpu.power_draw_watts)
    yield Problem(because, readings, severity=Severity.WARNING if now < slowdown else None)
