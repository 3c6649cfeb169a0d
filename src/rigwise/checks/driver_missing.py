"""The NVIDIA driver is not installed.

What: the driver's library libnvidia-ml.so.1 (or nvidia-smi) is not on this system.
Why: without it nothing can talk to the card.
How to tell: NVML_ERROR_LIBRARY_NOT_FOUND (12), or no such program.
"""

from collections.abc import Iterator

from rigwise.knowledge.advice import driver_commands
from rigwise.records.evidence import Status
from rigwise.records.finding import Problem
from rigwise.records.rig import Rig
from rigwise.speech import say

LIBRARY_NOT_FOUND = 12


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A problem when the driver's library is missing."""
    if rig.lists_gpus() or not _missing(rig):
        return
    if rig.kernel_driver_version.present:
        because = say("The kernel module is loaded, but the driver's libraries are not installed beside it.")
        yield Problem(because, (rig.nvml, rig.kernel_driver_version))
    elif rig.pci_gpus.value:
        because = say("The card is on the bus, but no NVIDIA driver is installed.")
        yield Problem(because, (rig.nvml, rig.pci_gpus), driver_commands(rig))
    else:
        yield Problem(say("No NVIDIA driver is installed."), (rig.nvml,), driver_commands(rig))


def _missing(rig: Rig) -> bool:
    return rig.nvml.status is Status.NOT_FOUND and rig.nvml.return_code in (LIBRARY_NOT_FOUND, None)
