"""A container started for trial does not see the GPU.

What: the user's own container engine was asked to run nvidia-smi in a container with GPUs, and it failed.
Why: whatever the configuration says, this is what a training container would meet.
How to tell: one run of nvidia-smi in an image that was there already (`rigwise check --deep`).
"""

from collections.abc import Iterator

from rigwise.records.evidence import Status
from rigwise.records.finding import Problem
from rigwise.records.reading import AbsentReading, Reading
from rigwise.records.rig import Rig
from rigwise.speech import say


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A problem when the trial failed; unknown where there was nothing to try."""
    trial = rig.deep.container_trial.need()
    rig.need_gpus()
    if trial.exit_status is None and not trial.error:
        raise AbsentReading(Reading(say("container engine with an image"), None, Status.NOT_FOUND, rig.num_gpus.quote))
    if trial.exit_status != 0:
        because = say(
            "{engine} could not give the GPU to a container of {image}.", engine=trial.engine, image=trial.image
        )
        yield Problem(because, (rig.deep.container_trial,))
    elif trial.num_gpus < rig.num_gpus.need():
        because = say("A container saw {seen} of {listed} GPUs.", seen=trial.num_gpus, listed=rig.num_gpus.need())
        yield Problem(because, (rig.deep.container_trial, rig.num_gpus))
