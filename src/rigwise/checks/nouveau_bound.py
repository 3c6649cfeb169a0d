"""An open driver without CUDA holds the GPU.

What: the kernel driver nouveau (or its successor nova) is bound to an NVIDIA card.
Why: it draws pictures and cannot run CUDA; the NVIDIA driver cannot have the card at the same time.
How to tell: the driver column of /proc/bus/pci/devices.
"""

from collections.abc import Iterator

from rigwise.knowledge.advice import driver_commands
from rigwise.records.finding import Problem, Severity
from rigwise.records.rig import Rig
from rigwise.speech import say

OPEN_DRIVERS = frozenset({"nouveau", "nova", "nova_core", "nova_drm"})


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A problem when nouveau or nova holds a card; milder while the driver lists other GPUs."""
    held = [f"{device.address} ({device.driver})" for device in rig.pci_gpus.need() if device.driver in OPEN_DRIVERS]
    if not held:
        return
    because = say("A driver that cannot run CUDA holds the card: {cards}.", cards=", ".join(held))
    yield Problem(
        because, (rig.pci_gpus,), driver_commands(rig), severity=Severity.WARNING if rig.num_gpus.value else None
    )
