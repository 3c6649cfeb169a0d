"""The IOMMU refuses transfers of a GPU.

What: IOMMU faults (DMAR, AMD-Vi) that name a GPU.
Why: the transfer is lost, so copies between GPUs or from the CPU hang or bring wrong data; NCCL and peer-to-peer
copies suffer first.
How to tell: the kernel log names the device. Faults of other devices, as integrated graphics report them at every
start, are left alone.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.kernel_events import EventKind, events_of, pci_address
from rigwise.records.rig import Rig
from rigwise.speech import say


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A warning when a GPU's transfers are refused."""
    rig.kernel_log.need()
    gpus = {pci_address(gpu.pci_bus_id.value or "") for gpu in rig.gpus}
    gpus |= {pci_address(device.address) for device in rig.pci_gpus.value_or(())}
    gpus -= {""}
    faults = [
        event
        for event in events_of(rig.log_events.need(), EventKind.IOMMU)
        if not event.past and (event.nvidia or event.address in gpus)
    ]
    if faults:
        because = say("Transfers of a GPU that the IOMMU refused, in this log: {count}.", count=len(faults))
        yield Problem(because, tuple(event.reading for event in faults[:2]))
