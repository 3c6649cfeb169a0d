"""A card on the bus is not among the driver's GPUs.

What: the PCI bus shows more NVIDIA display devices than the driver lists.
Why: a card that failed to start, is unsupported by this driver, or is held by another one. In a container it is
usually meant: the container was given some of the GPUs.
How to tell: addresses of /proc/bus/pci/devices against those that the driver lists.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem, Severity
from rigwise.records.rig import Rig
from rigwise.speech import say

OWN_DRIVERS = frozenset({"nvidia", ""})
"""Cards that the NVIDIA driver has, or that nobody has; nouveau_bound and gpu_passed_through judge the others."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A problem when a card is missing from the driver's list; a note in a container."""
    rig.need_gpus()
    on_bus = [device for device in rig.pci_gpus.need() if device.driver in OWN_DRIVERS]
    listed = rig.num_gpus.need()
    if len(on_bus) <= listed:
        return
    known = {(gpu.pci_bus_id.value or "").removeprefix("0000:") for gpu in rig.gpus}
    missing = [device.address for device in on_bus if device.address not in known]
    because = say("On the PCI bus but not listed by the driver: {addresses}.", addresses=", ".join(missing))
    meant = rig.host.container.value_or("none") != "none"
    yield Problem(because, (rig.num_gpus, rig.pci_gpus), severity=Severity.NOTE if meant else None)
