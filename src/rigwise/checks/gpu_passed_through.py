"""A GPU is reserved for virtual machines.

What: the kernel driver vfio-pci (or pci-stub) holds an NVIDIA card.
Why: while it does, the NVIDIA driver cannot have the card. This is meant on a host that passes cards to its guests.
How to tell: the driver column of /proc/bus/pci/devices.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem, Severity
from rigwise.records.rig import Rig
from rigwise.speech import say

PASS_THROUGH_DRIVERS = frozenset({"vfio-pci", "pci-stub"})


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A problem when cards are held; only a note while the driver lists other GPUs."""
    held = [device.address for device in rig.pci_gpus.need() if device.driver in PASS_THROUGH_DRIVERS]
    if not held:
        return
    because = say("Kept for virtual machines, so not for this system: {addresses}.", addresses=", ".join(held))
    yield Problem(because, (rig.pci_gpus,), severity=Severity.NOTE if rig.num_gpus.value else None)
