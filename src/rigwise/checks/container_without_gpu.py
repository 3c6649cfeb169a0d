"""This container was not given the GPU.

What: inside a container no GPU is listed, while the host's kernel driver is loaded, or nothing of a GPU can be seen.
Why: a container sees a GPU only when it was started with it.
How to tell: container markers, /proc/driver/nvidia/version (the host's), /dev/nvidiactl, NVML's return code.
Quiet when the fault is the host's: no card on the bus, or a card without the NVIDIA driver.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.rig import Rig
from rigwise.speech import say

OTHER_FAULTS = frozenset({4, 15, 16, 18})
"""No permission, GPU lost, reset required, version mismatch: these reach the GPU, so the container has it."""
UNKNOWN_ERROR = 999
"""With the device files at hand it is another fault: container_gpu_revoked."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A problem when a container shows no GPU and the host is not to blame."""
    if rig.lists_gpus() or rig.num_gpus.return_code in OTHER_FAULTS or rig.host.container.need() == "none":
        return
    if rig.num_gpus.return_code == UNKNOWN_ERROR and rig.device_nodes.present:
        return
    if rig.pci_gpus.present and not rig.kernel_driver_version.present:
        return
    evidence = (rig.host.container, rig.num_gpus, rig.device_nodes, rig.kernel_driver_version)
    yield Problem(_because(rig), evidence)


def _because(rig: Rig) -> str:
    if not rig.kernel_driver_version.present:
        return say("Nothing of a GPU is visible in this container: it was started without one, or its host has none.")
    if not rig.device_nodes.present:
        return say("The host's driver is loaded, but this container was started without its GPU.")
    return say("The container has the device files, but not the driver's library: its engine was not told to add it.")
