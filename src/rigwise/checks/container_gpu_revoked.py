"""A running container lost its GPU.

What: inside a container NVML answers "Unknown Error" (999) although the device files are there.
Why: with systemd as its cgroup driver the engine's permission for the device files is dropped when systemd reloads
its units (`systemctl daemon-reload`, an update). The device files stay and can no longer be opened.
How to tell: container markers, /dev/nvidiactl, NVML's return code (NVIDIA/nvidia-docker issue 1730).
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.rig import Rig
from rigwise.speech import say

UNKNOWN_ERROR = 999


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A problem when a container has the device files and may not use them."""
    if rig.lists_gpus() or rig.num_gpus.return_code != UNKNOWN_ERROR or rig.host.container.need() == "none":
        return
    if rig.device_nodes.present:
        because = say("This container had the GPU and lost it, as happens when the host's systemd reloads its units.")
        yield Problem(because, (rig.num_gpus, rig.device_nodes, rig.host.container))
