"""WSL2 does not get the GPU from Windows.

What: this is WSL, and its driver lists no GPU.
Why: under WSL2 the driver lives in Windows; Linux only gets /dev/dxg and libraries in /usr/lib/wsl/lib. A Linux
driver installed inside WSL hides them.
How to tell: the kernel's name, /dev/dxg, and NVML's return code. Source: NVIDIA, "CUDA on WSL User Guide".
"""

from collections.abc import Iterator

from rigwise.records.evidence import Status
from rigwise.records.finding import Problem
from rigwise.records.rig import Rig
from rigwise.speech import say

BLOCKED_BY_OS = 17
"""NVML_ERROR_OPERATING_SYSTEM."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A problem when WSL shows no GPU."""
    if (not _is_refused(rig) and rig.lists_gpus()) or not rig.host.wsl.need():
        return
    yield Problem(_because(rig), (rig.host.wsl, rig.wsl_device, rig.num_gpus))


def _is_refused(rig: Rig) -> bool:
    """Whether a program found no driver; the GPUs that are listed beside it are then what Windows shows."""
    return any(told.check == "driver_not_loaded" for told in rig.told)


def _because(rig: Rig) -> str:
    if _is_refused(rig) and rig.num_gpus.value:
        return say(
            "Windows lists the GPU, WSL finds no driver: it is too old, or a driver inside it hides Windows' own."
        )
    if rig.wsl_device.status is Status.NOT_FOUND:
        return say("WSL has no GPU device /dev/dxg: it is WSL 1, or Windows has no NVIDIA driver that supports WSL.")
    if rig.wsl_device.value and "not " in rig.wsl_device.value:
        return say("WSL's GPU device /dev/dxg is closed to this user.")
    if rig.num_gpus.return_code == BLOCKED_BY_OS:
        return say("Windows blocks the GPU: its driver is too old for this WSL, or was updated without a restart.")
    return say("WSL has the GPU device, but not Windows' driver library from /usr/lib/wsl/lib.")
