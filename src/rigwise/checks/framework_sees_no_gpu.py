"""A framework sees no GPU although the driver lists one.

What: a build with CUDA answers that CUDA is not available.
Why: training then runs on the CPU without a word. The cause is usually one of the checks above it.
How to tell: `torch.cuda.is_available()` in the user's own interpreter, with the warning it gave.
"""

from collections.abc import Iterator

from rigwise.records.excerpt import framework_facts
from rigwise.records.finding import Problem
from rigwise.records.rig import Rig
from rigwise.speech import say


def check_rig(rig: Rig) -> Iterator[Problem]:
    """One problem for each framework with CUDA that has none available."""
    rig.need_gpus()
    for framework in rig.interpreter.need().frameworks:
        if framework.cuda_available is False and not framework.cpu_only:
            because = say("{name} {version} would run on the CPU.", name=framework.name, version=framework.version)
            facts = framework_facts(rig.interpreter, framework, "cuda_available", "device_count", "error")
            yield Problem(because, (facts, rig.num_gpus))
