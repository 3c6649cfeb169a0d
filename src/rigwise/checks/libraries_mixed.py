"""CUDA libraries of different versions are mixed.

What: one Python environment holds the same NVIDIA library for several CUDA major versions.
Why: the packages of both lie in the same folder; whichever was installed last wins, and a framework may load the
other's library: "undefined symbol", "version mismatch", odd crashes.
How to tell: nvidia-*-cu11, -cu12, -cu13 packages of the same library. A note where a kernel ran all the same.
"""

import re
from collections.abc import Iterator, Sequence

from rigwise.records.evidence import Quote
from rigwise.records.finding import Problem, Severity
from rigwise.records.reading import AbsentReading, Reading, not_asked
from rigwise.records.rig import Rig
from rigwise.records.software import Package
from rigwise.speech import say

FAMILY = re.compile(r"(nvidia-[a-z0-9-]+?)-cu(1\d)$")


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A problem when a library is there for more than one CUDA."""
    interpreter = rig.interpreter.need()
    if not interpreter.packages:
        raise AbsentReading(not_asked(say("installed packages")))
    doubled = mixed_packages(interpreter.packages)
    if not doubled:
        return
    words = ", ".join(f"{package.name} {package.version}" for package in doubled)
    quote = Quote(rig.interpreter.quote.source, words)
    packages = Reading(say("installed packages"), doubled, rig.interpreter.status, quote)
    ran = any(framework.kernel_ok for framework in interpreter.frameworks)
    families = sorted({found[2] for package in doubled if (found := FAMILY.match(package.name))})
    because = say(
        "This Python holds {library} and others for CUDA {families} at once.",
        library=doubled[0].name.rpartition("-")[0],
        families=", ".join(families),
    )
    yield Problem(because, (packages,), severity=Severity.NOTE if ran else Severity.WARNING)


def mixed_packages(packages: Sequence[Package]) -> tuple[Package, ...]:
    """The packages of libraries that are there for several CUDA major versions."""
    named = [(found[1], package) for package in packages if (found := FAMILY.match(package.name))]
    libraries = [library for library, _package in named]
    return tuple(package for library, package in named if libraries.count(library) > 1)
