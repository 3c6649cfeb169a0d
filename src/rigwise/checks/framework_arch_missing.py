"""A framework's build has no code for this GPU.

What: none of the compiled architectures runs on the GPU's compute capability.
Why: "no kernel image is available for execution on the device" at the first kernel.
How to tell: code for sm_XY runs on capability X.Z with Z >= Y (CUDA C++ Programming Guide, "Binary Compatibility");
code for sm_XYa only on X.Y, code for sm_XYf within the family X. PTX (compute_XY) may be compiled at start, which
minor-version compatibility does not promise. Where a report names no list, the CUDA version of the build tells: below
12.8 none knows Blackwell, and 13 dropped everything before Turing. Quiet when a kernel already ran.
"""

from collections.abc import Iterator

from rigwise.knowledge.advice import gpu_capabilities, jax_command, torch_command
from rigwise.knowledge.architectures import Capability, cuda_compiles_for, has_ptx, runs_on
from rigwise.knowledge.drivers import version_numbers
from rigwise.records.excerpt import framework_facts, need_gpus_for
from rigwise.records.finding import Problem, Severity
from rigwise.records.rig import Rig
from rigwise.records.software import Framework
from rigwise.speech import say


def check_rig(rig: Rig) -> Iterator[Problem]:
    """One problem for each framework that lacks an architecture."""
    for framework in rig.interpreter.need().frameworks:
        need_gpus_for(rig, framework)
        if framework.kernel_ok or not (framework.arch_list or framework.cuda_build):
            continue
        missing = [one for one in _capabilities(rig, framework) if not _has_code(framework, one)]
        if missing:
            facts = framework_facts(
                rig.interpreter, framework, "cuda_build", "arch_list", "device_capabilities", "error"
            )
            driver_says = tuple(gpu.compute_capability for gpu in rig.gpus if gpu.compute_capability.present)
            severity = Severity.WARNING if all(has_ptx(framework.arch_list, one) for one in missing) else None
            names = tuple(gpu.name for gpu in rig.gpus if not driver_says and gpu.name.present)
            yield Problem(_because(framework, missing), (facts, *driver_says, *names), _steps(rig, framework), severity)


def _has_code(framework: Framework, device: Capability) -> bool:
    """By the framework's own list; without one, by what its CUDA version can compile for at all."""
    if framework.arch_list:
        return runs_on(framework.arch_list, device)
    numbers = version_numbers(framework.cuda_build or "")
    return len(numbers) < 2 or cuda_compiles_for((numbers[0], numbers[1]), device)


def _capabilities(rig: Rig, framework: Framework) -> list[Capability]:
    """What the framework sees, else what the driver says, else what the product's name says."""
    seen = framework.device_capabilities or gpu_capabilities(rig)
    return sorted(set(seen or [gpu.compute_capability.need() for gpu in rig.gpus if gpu.reachable.value]))


def _because(framework: Framework, missing: list[Capability]) -> str:
    names = ", ".join(f"sm_{major}{minor}" for major, minor in missing)
    return say("{name} {version} has no code for {names}.", name=framework.name, version=framework.release, names=names)


def _steps(rig: Rig, framework: Framework) -> tuple[str, ...]:
    command = {"torch": torch_command, "jax": jax_command}.get(framework.name, lambda _rig: None)(rig)
    return (command,) if command else ()
