"""LD_LIBRARY_PATH puts another CUDA before the framework's own.

What: the variable names a folder of a CUDA toolkit of another major version, of its stubs or of cuda-compat, and a
framework finds no GPU or fails.
Why: the dynamic linker looks there first. A stub libcuda.so and one of cuda-compat hide the driver's own.
How to tell: the variable in the environment of the asked interpreter. PyTorch's wheels look beside themselves first,
so it is judged only where something is wrong, or for JAX, whose libraries it overrides (JAX installation page).
"""

import re
from collections.abc import Iterator

from rigwise.records.evidence import Quote
from rigwise.records.finding import Problem, Severity
from rigwise.records.reading import Reading
from rigwise.records.rig import Rig
from rigwise.records.software import Framework
from rigwise.speech import say

VARIABLE = "LD_LIBRARY_PATH"
HIDES_DRIVER = re.compile(r"/stubs?/?$|cuda[^/]*/compat|/compat/?$")


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A problem when a folder on the path may explain why a framework fails."""
    interpreter = rig.interpreter.need()
    path = interpreter.environment.get(VARIABLE, "")
    for framework in interpreter.frameworks:
        folders = [folder for folder in path.split(":") if _overrides(folder, framework)]
        if folders:
            quote = Quote(rig.interpreter.quote.source, f"{VARIABLE}={path}")
            because = say(
                "{variable} names {folders}, while {name} {version} is built for CUDA {cuda}.",
                variable=VARIABLE,
                folders=", ".join(folders),
                name=framework.name,
                version=framework.release,
                cuda=framework.cuda_build,
            )
            yield Problem(because, (Reading(VARIABLE, path, rig.interpreter.status, quote),), severity=Severity.WARNING)
            return


def _overrides(folder: str, framework: Framework) -> bool:
    """Whether the folder may be why this framework fails; nothing overrides one that ran a kernel."""
    failed = framework.cuda_available is False or framework.kernel_ok is False or bool(framework.error)
    if framework.kernel_ok or framework.cuda_build is None or not (failed or framework.name == "jax"):
        return False
    if failed and HIDES_DRIVER.search(folder):
        return True
    toolkit = re.search(r"/cuda-?(\d{1,2})(?:\.\d+)?(?:/|$)", folder)
    return toolkit is not None and toolkit[1] != framework.cuda_build.partition(".")[0]
