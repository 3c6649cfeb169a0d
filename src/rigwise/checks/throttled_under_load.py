"""A GPU's clocks are held back while it works.

What: in a look of some seconds under load, heat or power held the clocks back for a good part of it.
Why: every measurement on it is too low, and differs from run to run; heat and power brake point to cooling or supply.
How to tell: the share of samples in which a clock event reason was set (`rigwise check --deep`). The power cap is the
card's normal regulation, unless the card draws far less than its limit.
"""

from collections.abc import Iterator
from statistics import fmean

from rigwise.knowledge.clock_event_reasons import clock_event_reasons
from rigwise.records.finding import Problem, Severity
from rigwise.records.gpu import Gpu
from rigwise.records.rig import Rig
from rigwise.records.transfers import LookUnderLoad, trial_of
from rigwise.speech import say
from rigwise.units import percent

SHARE = 0.2
"""Our choice: a blink at a change of clocks is one sample of twenty."""
CAPPED_DRAW_RATIO = 0.7
"""As in clocks_held_back: reported faults drew 0.6 of the limit, a card at its own limit draws 0.9 or more."""
GRAVITY = {
    "hw_power_brake_slowdown": Severity.SERIOUS,
    "hw_thermal_slowdown": Severity.SERIOUS,
    "sw_thermal_slowdown": Severity.WARNING,
    "hw_slowdown": Severity.WARNING,
    "sw_power_cap": Severity.WARNING,
}
"""Reasons that cost speed, gravest first."""


def check_gpu(gpu: Gpu, rig: Rig) -> Iterator[Problem]:
    """One problem for the gravest reason that held for a fifth of the look."""
    measured = trial_of(gpu, rig.deep.transfers)
    load = measured.need().load
    if load is None:
        return
    bits = {reason.name: reason for reason in clock_event_reasons()}
    for name, severity in GRAVITY.items():
        share = load.share(bits[name].bit)
        if share >= SHARE and (name != "sw_power_cap" or _draws_little(load)):
            meaning = _capped_early() if name == "sw_power_cap" else bits[name].meaning
            because = say("For {share} of the time under load: {meaning}", share=percent(share), meaning=meaning)
            yield Problem(because, (measured,), severity=severity)
            return


def _capped_early() -> str:
    return say("The power cap is active far below the card's own limit: something else caps it.")


def _draws_little(load: LookUnderLoad) -> bool:
    """Whether the card draws far less than its limit on average."""
    known = [watts for watts in load.power_draw_watts if watts is not None]
    limit_watts = load.power_limit_watts
    return bool(known and limit_watts) and fmean(known) < CAPPED_DRAW_RATIO * (limit_watts or 0)
