"""No NVIDIA GPU is on the PCI bus.

What: the list of PCI devices holds no NVIDIA display device.
Why: no driver can help; the card is not there, not seated, switched off in the firmware, or not passed to this
virtual machine.
How to tell: /proc/bus/pci/devices, vendor 10de, display class. Not judged on WSL2, where the GPU is not on the bus.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.rig import Rig
from rigwise.speech import say


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A problem when neither the driver nor the PCI bus shows a GPU."""
    if rig.lists_gpus() or rig.host.wsl.value:
        return
    if not rig.pci_gpus.need():
        because = say("The firmware and the kernel see no NVIDIA GPU; only the CPU can train.")
        yield Problem(because, (rig.pci_gpus,))
