"""A framework cannot be imported.

What: it is installed, but importing it fails or never ends.
Why: a half-finished installation, or libraries of another CUDA on the path; nothing that needs it can run.
How to tell: the exception's first line, in the user's own interpreter.
"""

from collections.abc import Iterator

from rigwise.records.excerpt import framework_facts
from rigwise.records.finding import Problem
from rigwise.records.rig import Rig
from rigwise.speech import say


def check_rig(rig: Rig) -> Iterator[Problem]:
    """One problem for each framework that failed before it could be asked about GPUs."""
    rig.need_gpus()
    for framework in rig.interpreter.need().frameworks:
        if framework.error and framework.cuda_available is None:
            because = say(
                "{name} {version} fails before it can be asked about a GPU.",
                name=framework.name,
                version=framework.release,
            )
            yield Problem(because, (framework_facts(rig.interpreter, framework, "error"),))
