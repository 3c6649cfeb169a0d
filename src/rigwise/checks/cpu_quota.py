"""A CPU limit cuts the work short.

What: the control group of this shell or container may use far fewer CPUs than the machine has, or is often stopped.
Why: programs count the CPUs of the machine, start as many workers, and are then stopped in turns: slower in the
container than on the host.
How to tell: the smallest limit above this process against the CPUs of the machine, and the share of scheduling
periods in which it was stopped. That share counts since the group was created, so alone it is a note.
"""

import math
from collections.abc import Iterator

from rigwise.records.finding import Problem, Severity
from rigwise.records.reading import those_present
from rigwise.records.rig import Rig
from rigwise.speech import say
from rigwise.units import percent, significant

SMALL_RATIO = 0.25
"""Our choice: with a quarter of the CPUs or less, what programs count is far from what they get."""
THROTTLED_RATIO = 0.25
"""Our choice; Kubernetes' own alert CPUThrottlingHigh fires at 25 % of the periods."""
TIGHT_CPUS = 1.5
"""Our choice: one CPU is taken by the training loop itself, so that nothing is left for loading."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A note; a warning when hardly more than one CPU is left and the limit was often reached."""
    limit = rig.cpu.quota_cpus.need()
    if math.isinf(limit):
        return
    throttled, count = rig.cpu.throttled_ratio.value_or(0.0), rig.cpu.num_cpus.value or rig.host.num_cpus.value
    often = throttled >= THROTTLED_RATIO
    if not often and limit > SMALL_RATIO * (count or rig.host.num_cpus.need()):
        return
    facts = {"limit": significant(limit), "share": percent(throttled)}
    because = (
        say(
            "The limit is {limit} of {count} CPUs; it stopped the group in {share} of its periods.",
            count=count,
            **facts,
        )
        if count
        else say("The limit is {limit} CPUs; it stopped the group in {share} of its periods.", **facts)
    )
    tight = often and limit <= TIGHT_CPUS and (count is None or count > TIGHT_CPUS)
    readings = those_present(rig.cpu.quota_cpus, rig.cpu.throttled_ratio, rig.cpu.num_cpus)
    yield Problem(because, readings, severity=Severity.WARNING if tight else None)
