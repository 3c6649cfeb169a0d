"""The driver is too old for a framework's CUDA.

What: a framework was built for a CUDA major version that this driver does not run.
Why: CUDA 13.x needs driver 580 or newer, 12.x needs 525, 11.x needs 450. Within a major version any minor version
runs (minor-version compatibility), so driver "CUDA 12.4" with a cu126 wheel is fine.
How to tell: the driver's version against knowledge/driver_floors.csv. Quiet when the framework already ran a kernel:
then a cuda-compat package, which data-centre GPUs allow, is in use.
"""

from collections.abc import Iterator

from rigwise.knowledge.advice import driver_commands, torch_command
from rigwise.knowledge.drivers import needed_driver, version_numbers
from rigwise.records.excerpt import framework_facts, need_gpus_for, on_windows
from rigwise.records.finding import Problem
from rigwise.records.rig import Rig
from rigwise.records.software import Framework
from rigwise.speech import say

CONSUMER_NAMES = ("GeForce", "TITAN", "Quadro", "RTX")
"""Products without forward compatibility, apart from selected RTX boards (CUDA compatibility guide)."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """One problem for each framework that needs a newer driver."""
    for framework in rig.interpreter.need().frameworks:
        need_gpus_for(rig, framework)
        needed = needed_driver(framework.cuda_build, windows=on_windows(rig)) if framework.cuda_build else None
        if needed is None or framework.kernel_ok:
            continue
        if version_numbers(rig.driver_version.need()) < version_numbers(needed):
            facts = framework_facts(rig.interpreter, framework, "cuda_build", "error")
            readings = (rig.driver_version, facts)
            yield Problem(_because(framework, needed), readings, _steps(rig, framework), action=_action(rig, needed))


def _steps(rig: Rig, framework: Framework) -> tuple[str, ...]:
    """The wheel that runs on the driver as it is, where there is one; else how to install a newer driver."""
    command = torch_command(rig) if framework.name == "torch" else None
    return (command,) if command else driver_commands(rig)


def _because(framework: Framework, needed: str) -> str:
    return say(
        "{name} {version} is built for CUDA {cuda}, which needs driver {needed} or newer.",
        name=framework.name,
        version=framework.release,
        cuda=framework.cuda_build,
        needed=needed,
    )


def _action(rig: Rig, needed: str) -> str:
    names = [gpu.name.value or "" for gpu in rig.gpus]
    if any(word in name for name in names for word in CONSUMER_NAMES):
        return say(
            "Install driver {needed} or newer and restart, or a framework built for an older CUDA.", needed=needed
        )
    return say(
        "Install driver {needed} or newer and restart, or, on a data-centre GPU, NVIDIA's cuda-compat package.",
        needed=needed,
    )
