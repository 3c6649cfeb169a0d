"""The driver's library and its kernel module have different versions.

What: NVML answers with a version mismatch (18).
Why: an update replaced the libraries while the old module stayed loaded. Nothing runs until both agree.
How to tell: NVML's return code; the kernel log names both versions ("API mismatch").
"""

from collections.abc import Iterator

from rigwise.records.excerpt import log_lines
from rigwise.records.finding import Problem
from rigwise.records.rig import Rig
from rigwise.speech import say

VERSION_MISMATCH = 18


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A problem when NVML says that the versions differ."""
    if rig.lists_gpus() or rig.num_gpus.return_code != VERSION_MISMATCH:
        return
    lines = log_lines(rig.kernel_log, r"NVRM: API mismatch")[-1:]
    loaded = rig.kernel_driver_version
    because = (
        say("Kernel module {version} is still loaded; the library has been replaced since.", version=loaded.value)
        if loaded.present
        else say("The library was replaced while another version of the kernel module stayed loaded.")
    )
    yield Problem(because, (rig.num_gpus, *((loaded,) if loaded.present else ()), *lines))
