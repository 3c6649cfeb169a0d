"""The parts of a step against its wall: what the device did, what it waited for, and what nobody explained. Pure.

The cuts of the device's timeline leave one part undivided: the step without what has a name of its own (`R` seconds on
the device). With `k` seconds of kernels in it and `l` seconds for the host to submit it, a host that never waits would
be done after max(l, k). So the device computes k, stands idle for the host's submitting l - k where l > k, and what R
exceeds max(l, k) by is the run-ahead lost by waiting in the step; where nothing waits, it is unexplained.
"""

from collections.abc import Mapping

from rigwise.records.ceilings import Part
from rigwise.train.ceilings.launch import LaunchCost
from rigwise.train.ceilings.parts import (
    DEVICE_COMPUTE,
    HOST_LAUNCH,
    OPTIMISER,
    STEP,
    SYNCHRONISATION,
    UNEXPLAINED,
)

LAUNCH_BOUND_RATIO = 0.9
"""Our choice: submitting takes this share of the step, so the device has next to no lead to lose."""


def explained(cuts: Mapping[str, float], wall_seconds: float, launch: LaunchCost | None) -> tuple[Part, ...]:
    """Every part of a step, largest first, then what is unexplained; seconds that add up to `wall_seconds`.

    Args:
        cuts: part -> seconds per step on the device's timeline.
        wall_seconds: per step, by the host's clock.
        launch: None where host and device are one; then the undivided part is computing.
    """
    named = {name: seconds for name, seconds in cuts.items() if name != STEP}
    for name, seconds in divided(cuts.get(STEP, 0.0), cuts.get(OPTIMISER, 0.0), launch).items():
        named[name] = named.get(name, 0.0) + seconds
    ordered = sorted(((name, seconds) for name, seconds in named.items() if seconds > 0), key=lambda one: -one[1])
    rest = wall_seconds - sum(seconds for _, seconds in ordered)
    return tuple(
        Part(name=name, seconds=seconds, share_ratio=seconds / wall_seconds)
        for name, seconds in (*ordered, (UNEXPLAINED, rest))
    )


def divided(step_seconds: float, optimiser_seconds: float, launch: LaunchCost | None) -> dict[str, float]:
    """The undivided part as computing, submitting and lost run-ahead.

    The kernels of the optimiser are taken to fill its own part: the profiler tells them for the whole step only.
    """
    if launch is None:
        return {DEVICE_COMPUTE: step_seconds}
    submitting = min(step_seconds, launch.step_part_seconds)
    if launch.busy_seconds is None:
        return {HOST_LAUNCH if submitting >= LAUNCH_BOUND_RATIO * step_seconds else DEVICE_COMPUTE: step_seconds}
    computing = min(step_seconds, max(0.0, launch.busy_seconds - optimiser_seconds))
    found = {DEVICE_COMPUTE: computing, HOST_LAUNCH: max(0.0, submitting - computing)}
    if launch.waits:
        found[SYNCHRONISATION] = step_seconds - max(submitting, computing)
    return found
