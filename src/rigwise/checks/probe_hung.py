"""A question to the driver hangs.

What: NVML, nvidia-smi or another reading program did not answer within its time limit.
Why: a driver that waits for a GPU that no longer answers holds its lock for everyone; a training run would hang too.
How to tell: rigwise asks every question with a time limit and keeps going without the answer.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem, Severity
from rigwise.records.rig import Rig
from rigwise.speech import say

DRIVER_SOURCES = ("NVML", "$ nvidia-smi")
"""Beginnings of the origin of a question that only the driver answers."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """One problem for all questions that hung; mild when none of them was the driver's."""
    if not rig.hung:
        rig.num_gpus.answered()
        return
    names = ", ".join(reading.name for reading in rig.hung)
    if any(reading.quote.source.startswith(DRIVER_SOURCES) for reading in rig.hung):
        yield Problem(say("The driver did not answer in time; asked: {names}.", names=names), rig.hung)
    else:
        because = say("This did not answer in time, and it was not the driver: {names}.", names=names)
        action = say("Start it by hand, to see what it waits for.")
        steps = ("rigwise check --only probe_hung",)
        yield Problem(because, rig.hung, next_steps=steps, severity=Severity.WARNING, action=action)
