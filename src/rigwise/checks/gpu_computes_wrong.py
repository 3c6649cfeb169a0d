"""A GPU fails at its first computation.

What: a small product of matrices on this GPU raises an error or comes out wrong.
Why: no run on it can be trusted; with several GPUs one bad card spoils the whole training.
How to tell: the kernel that `rigwise check --deep` runs on every GPU, in the user's own interpreter.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.gpu import Gpu
from rigwise.records.rig import Rig
from rigwise.records.transfers import trial_of
from rigwise.speech import say


def check_gpu(gpu: Gpu, rig: Rig) -> Iterator[Problem]:
    """A problem when the kernel did not give what it must."""
    measured = trial_of(gpu, rig.deep.transfers)
    trial = measured.need()
    if trial.kernel_ok is False:
        because = say("A product of two matrices of ones does not come out right on it.")
        if trial.error:
            because = say("A small kernel fails on it: {error}", error=trial.error)
        yield Problem(because, (measured,))
    elif trial.error:
        yield Problem(say("It computes, but fails under load: {error}", error=trial.error), (measured,))
