"""Secure Boot keeps the driver's kernel module out.

What: no GPU is listed, and the kernel rejected an unsigned module, or Secure Boot is on and the module is not loaded.
Why: with Secure Boot the kernel only loads modules signed with a key that the firmware knows.
How to tell: the kernel log's own line; else Secure Boot's state with NVML's "driver not loaded".
"""

from collections.abc import Iterator

from rigwise.records.excerpt import log_lines
from rigwise.records.finding import Problem
from rigwise.records.rig import Rig
from rigwise.speech import say

REJECTED = (
    r"Loading of (unsigned )?module.*is rejected|unsigned module loading is restricted|Key was rejected by service"
)
"""kernel/module/signing.c and security/lockdown; the last is modprobe's ENOKEY."""
DRIVER_NOT_LOADED = 9


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A problem when an unsigned module explains why no GPU is listed."""
    if rig.lists_gpus() or rig.num_gpus.return_code != DRIVER_NOT_LOADED:
        return
    lines = log_lines(rig.kernel_log, REJECTED)
    if lines:
        yield Problem(say("The kernel refused to load a module that no known key has signed."), lines[-2:])
    elif rig.host.secure_boot.need() and _unclaimed(rig):
        because = say("Secure Boot is on and the driver is installed but not loaded: most likely it is not signed.")
        yield Problem(because, (rig.host.secure_boot, rig.num_gpus, rig.pci_gpus))


def _unclaimed(rig: Rig) -> bool:
    """Whether a card waits for its driver."""
    return any(device.driver_told and not device.driver for device in rig.pci_gpus.need())
