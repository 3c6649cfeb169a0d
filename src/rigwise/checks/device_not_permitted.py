"""This user may not use the GPU.

What: NVML answers "Insufficient Permissions" (4), or the driver's device file cannot be read and written.
Why: CUDA opens /dev/nvidiactl for reading and writing.
How to tell: NVML's return code, and what the device file is to this user. Not judged on WSL2, which has another file.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.rig import Rig
from rigwise.speech import say

NO_PERMISSION = 4


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A problem when the driver is there but closed to this user."""
    if rig.lists_gpus() or rig.host.wsl.value:
        return
    closed = "not readable" in rig.device_nodes.value_or("") or "not writable" in rig.device_nodes.value_or("")
    if closed or rig.num_gpus.return_code == NO_PERMISSION:
        because = say("The driver is loaded, but its device files are closed to this user.")
        yield Problem(because, (rig.num_gpus, rig.device_nodes))
