"""TensorFlow has no CUDA libraries.

What: TensorFlow runs natively on Windows in a version after 2.10, or was installed without CUDA's libraries.
Why: since 2.11 it has no GPU support on native Windows; on Linux `pip install tensorflow` brings no CUDA, which
`tensorflow[and-cuda]` does. Training then runs on the CPU.
How to tell: version and system; the installed nvidia-* packages and toolkits. Quiet when it sees a GPU.
"""

from collections.abc import Iterator

from rigwise.knowledge.drivers import version_numbers
from rigwise.knowledge.frameworks import LAST_TENSORFLOW_WITH_GPU_ON_WINDOWS, short_release
from rigwise.records.excerpt import framework_facts, in_wsl, need_gpus_for, on_windows
from rigwise.records.finding import Problem, Severity
from rigwise.records.rig import Rig
from rigwise.records.software import Framework, Interpreter
from rigwise.speech import say

FIRST_WITH_EXTRA = (2, 14)
"""The first release with the extra `and-cuda`."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A problem when TensorFlow cannot have found CUDA."""
    interpreter = rig.interpreter.need()
    for framework in interpreter.frameworks:
        release = short_release(framework.version)
        if framework.name != "tensorflow" or framework.cuda_available or framework.cpu_only or not release:
            continue
        need_gpus_for(rig, framework)
        facts = framework_facts(rig.interpreter, framework, "cuda_available")
        if on_windows(rig) and not in_wsl(rig):
            if version_numbers(release) > LAST_TENSORFLOW_WITH_GPU_ON_WINDOWS:
                because = say("TensorFlow {version} has no GPU support on native Windows.", version=framework.version)
                action = say("Use TensorFlow in WSL2, or version 2.10 with Python 3.10 or older.")
                steps = ("wsl --install", 'pip install "tensorflow<2.11"')
                yield Problem(because, (facts,), steps, action=action)
        elif _without_libraries(rig, interpreter, framework):
            because = say("TensorFlow {version} is there without any CUDA library.", version=framework.version)
            severity = None if framework.cuda_available is False else Severity.WARNING
            yield Problem(because, (facts, rig.stack.toolkits), severity=severity)


def _without_libraries(rig: Rig, interpreter: Interpreter, framework: Framework) -> bool:
    """Whether no package and no toolkit brings cuDNN and CUDA's runtime."""
    if version_numbers(short_release(framework.version)) < FIRST_WITH_EXTRA or not interpreter.packages:
        return False
    packaged = any("cudnn" in package.name or "cuda-runtime" in package.name for package in interpreter.packages)
    on_path = "cuda" in interpreter.environment.get("LD_LIBRARY_PATH", "")
    return not packaged and not on_path and not rig.stack.toolkits.need()
