"""The machine's power supply holds a GPU back.

What: the power brake is on: something outside the GPU asks it to draw less.
Why: the clocks are cut by half or more; a supply that is short of power may next switch the machine off.
How to tell: the clock event reason HW Power Brake Slowdown; of a watch, the share of the samples at work. One look that
shows the reason beside the highest clock caught the brake as it began or ended: a note.
"""

from collections.abc import Iterator

from rigwise.knowledge.clock_event_reasons import clock_event_reasons
from rigwise.records.finding import Problem, Severity
from rigwise.records.gpu import Gpu
from rigwise.records.rig import Rig
from rigwise.speech import say
from rigwise.units import percent

BRAKE = next(reason.bit for reason in clock_event_reasons() if reason.name == "hw_power_brake_slowdown")
SHARE_RATIO = 0.1
"""Our choice: a brake that is on for less of a watch is a blink."""
HELD_RATIO = 0.75
"""A brake halves the clock at least (NVML, nvmlClocksEventReasonHwPowerBrakeSlowdown); above it, it does not work."""


def check_gpu(gpu: Gpu, rig: Rig) -> Iterator[Problem]:
    """A problem when the brake is on."""
    watched = gpu.share_of_samples(BRAKE)
    if watched is None:
        if gpu.clocks_event_reasons.need() & BRAKE:
            yield _at_this_moment(gpu)
    elif watched >= SHARE_RATIO:
        because = say(
            "The power brake was on in {share} of the samples: the power supply asks for less.", share=percent(watched)
        )
        yield Problem(because, (gpu.samples,))


def _at_this_moment(gpu: Gpu) -> Problem:
    readings = (gpu.clocks_event_reasons, gpu.sm_clock_mhz, gpu.power_draw_watts)
    clock, highest = gpu.sm_clock_mhz.value, gpu.sm_clock_max_mhz.value
    if clock and highest and clock >= HELD_RATIO * highest:
        because = say(
            "The power brake is named at this moment, yet the clock is near its highest: it may have been brief."
        )
        return Problem(because, readings, severity=Severity.NOTE)
    return Problem(say("The power brake is on at this moment: the machine's power supply asks for less."), readings)
