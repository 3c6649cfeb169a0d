"""A framework sees no GPU although the driver lists one.

What: a build with CUDA answers that CUDA is not available.
Why: training then runs on the CPU without a word. The cause is usually one of the checks above it.
How to tell: `torch.cuda.is_available()` in the user's own interpreter, with the warning it gave. Where a report names
no GPU, a CUDA toolkit beside the build tells that one is meant to be there: milder, for it may be another machine.
"""

from collections.abc import Iterator

from rigwise.knowledge.advice import mending_command
from rigwise.records.evidence import Status
from rigwise.records.excerpt import framework_facts, need_gpus_for
from rigwise.records.finding import Problem, Severity
from rigwise.records.reading import Reading
from rigwise.records.rig import Rig
from rigwise.records.software import Framework
from rigwise.speech import say


def check_rig(rig: Rig) -> Iterator[Problem]:
    """One problem for each framework with CUDA that has none available."""
    for framework in rig.interpreter.need().frameworks:
        fails = framework.cuda_available is False and not framework.cpu_only and _may_have_cuda(framework)
        facts = framework_facts(rig.interpreter, framework, "cuda_available", "device_count", "error")
        if fails and _meant_for_a_gpu(rig, framework):
            yield _without_driver(rig, framework, facts)
            continue
        need_gpus_for(rig, framework)
        if fails:
            because = say("{name} {version} would run on the CPU.", name=framework.name, version=framework.release)
            readings = (facts, rig.num_gpus) if rig.num_gpus.present else (facts,)
            yield _with_its_command(rig, framework, Problem(because, readings))


def _may_have_cuda(framework: Framework) -> bool:
    """Builds for ROCm and others are neither CPU-only nor for CUDA."""
    return framework.cuda_build is not None or framework.cpu_only is None


def _meant_for_a_gpu(rig: Rig, framework: Framework) -> bool:
    """Whether nothing names a GPU or a driver, and a CUDA toolkit lies beside the build all the same."""
    nothing_told = rig.num_gpus.status is rig.driver_version.status is Status.NOT_RECORDED
    named = framework.device_capabilities or framework.device_count or framework.asked_for_cuda
    return nothing_told and not named and bool(framework.cuda_build) and rig.stack.nvcc_version.present


def _without_driver(rig: Rig, framework: Framework, facts: Reading[Framework]) -> Problem:
    because = say(
        "{name} {version} is built for CUDA {cuda} and sees no GPU; nothing here names a GPU or a driver either.",
        name=framework.name,
        version=framework.release,
        cuda=framework.cuda_build,
    )
    action = say("See whether the driver is installed and lists the GPU.")
    return Problem(because, (facts, rig.stack.nvcc_version), ("nvidia-smi",), Severity.WARNING, action=action)


def _with_its_command(rig: Rig, framework: Framework, problem: Problem) -> Problem:
    """Without device files the rest is idle; TensorFlow and JAX mostly find no CUDA library, and do not say so."""
    if rig.stack.device_files.value == ():
        action = say("Install the driver, or start the container with the GPU: no NVIDIA device file is here.")
        steps = ("nvidia-smi", "docker run --rm --gpus all IMAGE nvidia-smi")
        return Problem(problem.because, (*problem.readings, rig.stack.device_files), steps, action=action)
    command = mending_command(framework.name, rig) if framework.name != "torch" else None
    if command is None:
        return problem
    action = say("Install it again, together with the CUDA libraries that it needs.")
    return Problem(problem.because, problem.readings, (command,), action=action)
