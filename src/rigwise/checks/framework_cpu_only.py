"""A framework was installed without CUDA.

What: the machine has a GPU, and the framework is a CPU-only build.
Why: training then runs on the CPU without a word, tens of times slower.
How to tell: `torch.version.cuda` is None; JAX has no CUDA plugin; the package is tensorflow-cpu.
"""

from collections.abc import Iterator

from rigwise.records.excerpt import framework_facts
from rigwise.records.finding import Problem, Severity
from rigwise.records.rig import Rig
from rigwise.speech import say

INSTALL = {"jax": ('pip install -U "jax[cuda12]"',), "tensorflow": ('pip install "tensorflow[and-cuda]"',)}
"""The builds with CUDA of what is not PyTorch, as their own pages on installation name them."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """One problem for each CPU-only framework; a note when another one in the same Python has CUDA."""
    rig.need_gpus()
    frameworks = rig.interpreter.need().frameworks
    another_has_cuda = any(framework.cuda_build for framework in frameworks)
    for framework in frameworks:
        if framework.cpu_only:
            because = say("{name} {version} cannot use any GPU.", name=framework.name, version=framework.version)
            facts = framework_facts(rig.interpreter, framework, "cuda_build", "cpu_only")
            severity = Severity.NOTE if another_has_cuda else None
            yield Problem(because, (facts, rig.num_gpus), INSTALL.get(framework.name, ()), severity)
