"""The NVIDIA driver is installed but not loaded.

What: NVML answers "Driver Not Loaded" (9).
Why: the module was not built for this kernel, is blocked, or failed to start; or its device files are missing.
How to tell: NVML's return code, /proc/modules, /dev/nvidiactl.
"""

from collections.abc import Iterator

from rigwise.records.evidence import Status
from rigwise.records.excerpt import log_lines
from rigwise.records.finding import Problem
from rigwise.records.rig import Rig
from rigwise.speech import say

DRIVER_NOT_LOADED = 9
START_FAILURE = r"NVRM:.*(failed|No NVIDIA GPU found|unable to|not load)|nvidia: (version magic|disagrees about)"


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A problem when NVML says that the driver is not loaded. Where nobody asked it, a loaded module is enough."""
    if rig.num_gpus.status is Status.NOT_RECORDED and "nvidia" in rig.host.loaded_modules.value_or(()):
        rig.host.loaded_modules.need()
        return
    if rig.lists_gpus() or rig.num_gpus.return_code != DRIVER_NOT_LOADED:
        return
    lines = log_lines(rig.kernel_log, START_FAILURE)[-3:]
    if "nvidia" not in rig.host.loaded_modules.value_or(()):
        because = say("The driver's library is installed, but its kernel module is not loaded.")
        kernel = (rig.host.kernel,) if rig.host.kernel.present else ()
        yield Problem(because, (rig.num_gpus, *kernel, *lines))
    elif rig.device_nodes.status is Status.NOT_FOUND:
        because = say("The kernel module is loaded, but its device files are missing.")
        steps = ("sudo nvidia-modprobe -c 0 -u",)
        action = say("Make the device files.")
        yield Problem(because, (rig.num_gpus, rig.device_nodes, *lines), next_steps=steps, action=action)
    else:
        because = say("The kernel module is loaded, but it could not start a GPU.")
        steps = ("sudo dmesg | grep NVRM",)
        action = say("Read what the driver wrote to the kernel log.")
        yield Problem(because, (rig.num_gpus, *lines), next_steps=steps, action=action)
