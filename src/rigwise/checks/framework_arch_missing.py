"""A framework's build has no code for this GPU.

What: none of the compiled architectures runs on the GPU's compute capability.
Why: "no kernel image is available for execution on the device" at the first kernel.
How to tell: code for sm_XY runs on capability X.Z with Z >= Y (CUDA C++ Programming Guide, "Binary Compatibility");
code for sm_XYa only on X.Y, code for sm_XYf within the family X. PTX (compute_XY) may be compiled at start, which
minor-version compatibility does not promise. Quiet when a kernel already ran.
"""

import re
from collections.abc import Iterator

from rigwise.records.excerpt import framework_facts
from rigwise.records.finding import Problem, Severity
from rigwise.records.rig import Rig
from rigwise.records.software import Framework
from rigwise.speech import say

Capability = tuple[int, int]
NEEDS_CUDA_12_8: Capability = (10, 0)
"""Blackwell: sm_100 and sm_120 are in wheels from cu128 on."""
DROPPED_BY_CUDA_13: Capability = (7, 5)
"""CUDA 13 builds nothing older; cu126 is the last wheel that does, PyTorch 2.14 the last that has it."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """One problem for each framework that lacks an architecture."""
    rig.need_gpus()
    for framework in rig.interpreter.need().frameworks:
        if not framework.arch_list or framework.kernel_ok:
            continue
        missing = [one for one in _capabilities(rig, framework) if not runs_on(framework.arch_list, one)]
        if missing:
            facts = framework_facts(rig.interpreter, framework, "arch_list", "device_capabilities", "error")
            driver_says = tuple(gpu.compute_capability for gpu in rig.gpus if gpu.compute_capability.present)
            severity = Severity.WARNING if all(_has_ptx(framework.arch_list, one) for one in missing) else None
            yield Problem(_because(framework, missing), (facts, *driver_says), _steps(missing[0]), severity)


def _capabilities(rig: Rig, framework: Framework) -> list[Capability]:
    """What the framework sees, else what the driver says."""
    seen = framework.device_capabilities or [gpu.compute_capability.need() for gpu in rig.gpus if gpu.reachable.value]
    return sorted(set(seen))


def runs_on(architectures: tuple[str, ...], device: Capability) -> bool:
    """Whether one of the compiled architectures runs on a device.

    >>> runs_on(("sm_80", "sm_86"), (8, 9)), runs_on(("sm_80", "sm_90"), (12, 0)), runs_on(("sm_90a",), (9, 0))
    (True, False, True)
    """
    return any(_binary_runs(*parts, device) for parts in _architectures("sm", architectures))


def _binary_runs(built: Capability, kind: str, device: Capability) -> bool:
    if kind == "a":
        return built == device
    return built[0] == device[0] and built[1] <= device[1]


def _has_ptx(architectures: tuple[str, ...], device: Capability) -> bool:
    return any(built <= device for built, _kind in _architectures("compute", architectures))


def _architectures(prefix: str, architectures: tuple[str, ...]) -> Iterator[tuple[Capability, str]]:
    for architecture in architectures:
        found = re.fullmatch(rf"{prefix}_(\d+)(\d)([af]?)", architecture)
        if found:
            yield (int(found[1]), int(found[2])), found[3]


def _because(framework: Framework, missing: list[Capability]) -> str:
    names = ", ".join(f"sm_{major}{minor}" for major, minor in missing)
    return say("{name} {version} has no code for {names}.", name=framework.name, version=framework.version, names=names)


def _steps(device: Capability) -> tuple[str, ...]:
    if device >= NEEDS_CUDA_12_8:
        return (say("pip install torch --index-url https://download.pytorch.org/whl/cu128"),)
    if device < DROPPED_BY_CUDA_13:
        return (say('pip install "torch<2.15" --index-url https://download.pytorch.org/whl/cu126'),)
    return ()
