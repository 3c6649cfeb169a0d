"""The interpreter holds no AI framework.

What: neither PyTorch, TensorFlow nor JAX is installed in the Python that was asked.
Why: often the wrong Python was asked: the frameworks live in another environment.
How to tell: the installed distributions of that interpreter.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.rig import Rig
from rigwise.speech import say


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A note when there is none."""
    rig.need_gpus()
    interpreter = rig.interpreter.need()
    if not interpreter.frameworks:
        because = say("{python} has no PyTorch, TensorFlow or JAX.", python=interpreter.executable)
        yield Problem(because, (rig.interpreter,))
