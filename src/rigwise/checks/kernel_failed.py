"""A framework cannot run a kernel on the GPU.

What: CUDA is available, and the first small kernel still fails or gives a wrong result.
Why: everything else looks right, and training would fail or, worse, compute nonsense.
How to tell: 256 ones doubled and summed on each visible GPU, in the user's own interpreter.
"""

from collections.abc import Iterator

from rigwise.records.excerpt import framework_facts
from rigwise.records.finding import Problem
from rigwise.records.rig import Rig
from rigwise.speech import say


def check_rig(rig: Rig) -> Iterator[Problem]:
    """One problem for each framework whose kernel failed."""
    rig.need_gpus()
    interpreter = rig.deep.interpreter if rig.deep.interpreter.present else rig.interpreter
    for framework in interpreter.need().frameworks:
        if framework.cuda_available and framework.kernel_ok is False:
            because = say("{name} sees the GPU but cannot compute on it.", name=framework.name)
            yield Problem(because, (framework_facts(interpreter, framework, "kernel_ok", "error"),))
