"""Heat, or something that the card does not name, holds a GPU's clocks back.

What: an active clock event reason that costs speed and is not the card's normal regulation.
Why: it is slower than it should be; heat points to a fault in cooling, an early power cap to one in the supply.
How to tell: the bits of clocks_event_reasons (nvml.h). Idle, application clocks, sync boost and display clocks are
benign. The power cap is benign at full load; it is not when the card draws far less than its limit. Of a watch, a
reason counts that holds for a share of the samples; of one sample, the words say "at this moment". The power brake
has a check of its own. A watch without reasons tells it too when the clock falls far below its idle one as work comes:
work raises the clock of a sound card, or lowers it by a third at its power limit.
"""

from collections.abc import Iterator, Sequence
from statistics import median

from rigwise.knowledge.clock_event_reasons import ClockEventReason, ClockEventVerdict, clock_event_reasons, reasons_in
from rigwise.records.finding import Problem, Severity
from rigwise.records.gpu import Gpu
from rigwise.records.rig import Rig
from rigwise.speech import say
from rigwise.units import percent

CAPPED_DRAW_RATIO = 0.7
"""Our choice; reported faults drew 60 % (ollama#16048) of the limit, a card at its own limit draws 90 % or more."""
BUSY_UTILIZATION_RATIO = 0.5
"""Our choice: below it a low draw needs no explanation."""
SHARE_RATIO = 0.1
"""Our choice: a reason that holds for less of a watch is a blink."""
FALLEN_RATIO = 0.45
"""Our choice: an H100 idles at 1980 MHz and computes at 1200 to 1400 at its power limit, 0.6 of it and more."""
FEWEST_OF_EACH = 2
"""Our choice: samples at work, and samples before work came."""


def check_gpu(gpu: Gpu, rig: Rig) -> Iterator[Problem]:
    """One problem for the gravest reason."""
    judged = _judged_by_monitor(gpu) or _fallen(gpu) or _judged(_lasting(gpu), gpu)
    if judged is not None:
        severity, because = judged
        watched = (gpu.samples,) if gpu.samples.present else ()
        readings = (*watched, gpu.clocks_event_reasons, gpu.sm_clock_mhz, gpu.temperature_celsius, gpu.power_draw_watts)
        yield Problem(because, readings, severity=severity)


def _violations(gpu: Gpu) -> list[bool]:
    """Of each sample that tells it, whether heat held the clocks back."""
    return [one.held_by_heat for one in gpu.samples.value or () if one.held_by_heat is not None]


def _judged_by_monitor(gpu: Gpu) -> tuple[Severity, str] | None:
    """What a monitor says that counts violations of the thermal limit; None where it saw hardly any."""
    told = _violations(gpu)
    share = sum(told) / len(told) if told else 0.0
    if share < SHARE_RATIO:
        return None
    return Severity.WARNING, say("Heat held the clocks back in {share} of the samples.", share=percent(share))


def _fallen(gpu: Gpu) -> tuple[Severity, str] | None:
    """What a watch without reasons says whose clock is far lower at work than it was before; None where it is not."""
    if gpu.clocks_event_reasons.present:
        return None
    clocks: dict[bool, list[float]] = {True: [], False: []}
    for one in gpu.samples.value or ():
        if one.sm_clock_mhz is not None and one.gpu_utilization_ratio is not None:
            clocks[one.gpu_utilization_ratio >= BUSY_UTILIZATION_RATIO].append(one.sm_clock_mhz)
    if min(map(len, clocks.values())) < FEWEST_OF_EACH:
        return None
    idle, busy = median(clocks[False]), median(clocks[True])
    if busy >= FALLEN_RATIO * idle:
        return None
    facts = {"idle": round(idle), "busy": round(busy)}
    return Severity.WARNING, say("Idle it runs at {idle} MHz; at work the clock falls to {busy} MHz.", **facts)


def _lasting(gpu: Gpu) -> Sequence[ClockEventReason]:
    """The reasons that hold for a share of the watch; those of the moment where there is none."""
    shares = [(reason, gpu.share_of_samples(reason.bit)) for reason in clock_event_reasons()]
    if not gpu.clocks_event_reasons.present and _violations(gpu):
        gpu.samples.need()
        return ()
    if any(share is None for _reason, share in shares):
        return reasons_in(gpu.clocks_event_reasons.need())
    gpu.samples.need()
    return [reason for reason, share in shares if share is not None and share >= SHARE_RATIO]


def _judged(reasons: Sequence[ClockEventReason], gpu: Gpu) -> tuple[Severity, str] | None:
    """How bad the active reasons are and what they mean; None when all are benign."""
    active = {reason.name: reason for reason in reasons}
    if "hw_power_brake_slowdown" in active:
        return None
    if reason := active.get("hw_thermal_slowdown"):
        return Severity.SERIOUS, say("Heat has cut the clocks by half or more {when}.", when=_when(reason, gpu))
    if reason := active.get("sw_thermal_slowdown"):
        return Severity.WARNING, say("The driver lowers the clocks because of heat {when}.", when=_when(reason, gpu))
    if (reason := active.get("hw_slowdown")) and "gpu_idle" not in active:
        return Severity.WARNING, say("The hardware slows the clocks {when}; this may pass.", when=_when(reason, gpu))
    if "sw_power_cap" in active and _capped_early(gpu):
        return Severity.WARNING, say("The power cap is active far below the card's own limit: something else caps it.")
    rare = [reason.meaning for reason in reasons if reason.verdict is ClockEventVerdict.WATCH]
    return (Severity.NOTE, rare[0]) if rare else None


def _when(reason: ClockEventReason, gpu: Gpu) -> str:
    share = gpu.share_of_samples(reason.bit)
    return say("at this moment") if share is None else say("in {share} of the samples", share=percent(share))


def _capped_early(gpu: Gpu) -> bool:
    """Whether a busy card is capped although it draws far less than its limit."""
    draw, limit = gpu.power_draw_watts.value, gpu.power_limit_enforced_watts.value
    busy = gpu.gpu_utilization_ratio.value_or(0.0) >= BUSY_UTILIZATION_RATIO
    return busy and draw is not None and limit is not None and draw < CAPPED_DRAW_RATIO * limit
