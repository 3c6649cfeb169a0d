"""A framework was installed without CUDA.

What: the machine has a GPU, and the framework is a CPU-only build.
Why: training then runs on the CPU without a word, tens of times slower.
How to tell: `torch.version.cuda` is None; JAX has no CUDA plugin; the package is tensorflow-cpu.
"""

from collections.abc import Iterator

from rigwise.knowledge.advice import mending_command
from rigwise.records.excerpt import framework_facts, need_gpus_for
from rigwise.records.finding import Problem, Severity
from rigwise.records.rig import Rig
from rigwise.records.software import Framework
from rigwise.speech import say


def check_rig(rig: Rig) -> Iterator[Problem]:
    """One problem for each CPU-only framework; a note when another one in the same Python has CUDA."""
    frameworks = rig.interpreter.need().frameworks
    another_has_cuda = any(framework.cuda_build for framework in frameworks)
    for framework in frameworks:
        need_gpus_for(rig, framework)
        if framework.cpu_only:
            because = say("{name} {version} cannot use any GPU.", name=framework.name, version=framework.release)
            facts = framework_facts(rig.interpreter, framework, "cuda_build", "cpu_only")
            severity = Severity.NOTE if another_has_cuda else None
            readings = (facts, rig.num_gpus) if rig.num_gpus.present else (facts,)
            yield Problem(because, readings, _steps(rig, framework), severity or _unconfirmed(rig, framework))


def _unconfirmed(rig: Rig, framework: Framework) -> Severity | None:
    """Milder where nothing but the question itself tells of a GPU."""
    return None if rig.num_gpus.present or framework.device_capabilities else Severity.WARNING


def _steps(rig: Rig, framework: Framework) -> tuple[str, ...]:
    command = mending_command(framework.name, rig)
    return (command,) if command else ()
