"""The CUDA toolkit is newer than the driver.

What: nvcc compiles for a newer CUDA than the driver supports.
Why: what it compiles runs within a major version, but PTX that the driver must compile does not ("the provided PTX
was compiled with an unsupported toolchain"). Frameworks bring their own CUDA and are not affected.
How to tell: `nvcc --version` against the CUDA version of the driver, or against the driver that the toolkit came with.
"""

from collections.abc import Iterator

from rigwise.knowledge.drivers import toolkit_drivers, version_numbers
from rigwise.records.excerpt import on_windows
from rigwise.records.finding import Problem
from rigwise.records.rig import Rig
from rigwise.speech import say


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A note when the toolkit is ahead of the driver."""
    toolkit = rig.stack.nvcc_version.need()
    known = rig.cuda_driver_version if rig.cuda_driver_version.present else rig.driver_version
    if _is_newer(rig, toolkit):
        yield Problem(_because(rig, toolkit), (rig.stack.nvcc_version, known))


def _because(rig: Rig, toolkit: str) -> str:
    cuda = rig.cuda_driver_version.value
    if cuda is not None and cuda[:1] == version_numbers(toolkit)[:1]:
        return say(
            "nvcc is of CUDA {toolkit}, the driver of {driver}: what it compiles for the card's architecture runs, "
            "PTX does not.",
            toolkit=toolkit,
            driver=".".join(map(str, cuda)),
        )
    return say("nvcc compiles for CUDA {toolkit}, which this driver is too old for.", toolkit=toolkit)


def _is_newer(rig: Rig, toolkit: str) -> bool:
    if rig.cuda_driver_version.present:
        return version_numbers(toolkit) > rig.cuda_driver_version.need()
    driver = version_numbers(rig.driver_version.need())
    came_with = next((one for one in toolkit_drivers() if one.cuda == toolkit), None)
    needed = (came_with.driver_windows if on_windows(rig) else came_with.driver_linux) if came_with else ""
    return bool(needed) and driver < version_numbers(needed)
