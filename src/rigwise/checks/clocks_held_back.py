"""Hardware or heat holds a GPU's clocks back.

What: an active clock event reason that costs speed and is not the card's normal regulation.
Why: it is slower than it should be, now; heat and power brake also point to a fault in cooling or power supply.
How to tell: the bits of clocks_event_reasons (nvml.h). Idle, application clocks, sync boost and display clocks are
benign. The power cap is benign at full load; it is not when the card draws far less than its limit. This is one
sample: the words say "at this moment", and only a recording over time tells the share of time.
"""

from collections.abc import Iterator, Sequence

from rigwise.knowledge.clock_event_reasons import ClockEventReason, ClockEventVerdict, reasons_in
from rigwise.records.finding import Problem, Severity
from rigwise.records.gpu import Gpu
from rigwise.records.rig import Rig
from rigwise.speech import say

CAPPED_DRAW_RATIO = 0.7
"""Our choice; reported faults drew 60 % (ollama#16048) of the limit, a card at its own limit draws 90 % or more."""
BUSY_UTILIZATION_RATIO = 0.5
"""Our choice: below it a low draw needs no explanation."""


def check_gpu(gpu: Gpu, rig: Rig) -> Iterator[Problem]:
    """One problem for the gravest reason."""
    judged = _judged(reasons_in(gpu.clocks_event_reasons.need()), gpu)
    if judged is not None:
        severity, because = judged
        readings = (gpu.clocks_event_reasons, gpu.sm_clock_mhz, gpu.temperature_celsius, gpu.power_draw_watts)
        yield Problem(because, readings, severity=severity)


def _judged(reasons: Sequence[ClockEventReason], gpu: Gpu) -> tuple[Severity, str] | None:
    """How bad the active reasons are and what they mean; None when all are benign."""
    active = {reason.name for reason in reasons}
    if "hw_power_brake_slowdown" in active:
        return Severity.SERIOUS, say("The power brake is on at this moment: the machine's power supply asks for less.")
    if "hw_thermal_slowdown" in active:
        return Severity.SERIOUS, say("Heat has cut the clocks by half or more at this moment.")
    if "sw_thermal_slowdown" in active:
        return Severity.WARNING, say("The driver lowers the clocks because of heat at this moment.")
    if "hw_slowdown" in active and "gpu_idle" not in active:
        return Severity.WARNING, say("The hardware slows the clocks at this moment; this may pass.")
    if "sw_power_cap" in active and _capped_early(gpu):
        return Severity.WARNING, say("The power cap is active far below the card's own limit: something else caps it.")
    rare = [reason.meaning for reason in reasons if reason.verdict is ClockEventVerdict.WATCH]
    return (Severity.NOTE, rare[0]) if rare else None


def _capped_early(gpu: Gpu) -> bool:
    """Whether a busy card is capped although it draws far less than its limit."""
    draw, limit = gpu.power_draw_watts.value, gpu.power_limit_enforced_watts.value
    busy = gpu.gpu_utilization_ratio.value_or(0.0) >= BUSY_UTILIZATION_RATIO
    return busy and draw is not None and limit is not None and draw < CAPPED_DRAW_RATIO * limit
