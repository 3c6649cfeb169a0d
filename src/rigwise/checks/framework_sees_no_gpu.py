"""A framework sees no GPU although the driver lists one.

What: a build with CUDA answers that CUDA is not available.
Why: training then runs on the CPU without a word. The cause is usually one of the checks above it.
How to tell: `torch.cuda.is_available()` in the user's own interpreter, with the warning it gave.
"""

from collections.abc import Iterator

from rigwise.records.excerpt import framework_facts, need_gpus_for
from rigwise.records.finding import Problem
from rigwise.records.rig import Rig
from rigwise.records.software import Framework
from rigwise.speech import say


def check_rig(rig: Rig) -> Iterator[Problem]:
    """One problem for each framework with CUDA that has none available."""
    for framework in rig.interpreter.need().frameworks:
        need_gpus_for(rig, framework)
        if framework.cuda_available is False and not framework.cpu_only and _may_have_cuda(framework):
            because = say("{name} {version} would run on the CPU.", name=framework.name, version=framework.version)
            facts = framework_facts(rig.interpreter, framework, "cuda_available", "device_count", "error")
            readings = (facts, rig.num_gpus) if rig.num_gpus.present else (facts,)
            yield Problem(because, readings)


def _may_have_cuda(framework: Framework) -> bool:
    """Builds for ROCm and others are neither CPU-only nor for CUDA."""
    return framework.cuda_build is not None or framework.cpu_only is None
