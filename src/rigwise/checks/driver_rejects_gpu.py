"""The driver refuses the GPU.

What: the kernel log holds the driver's own statement that it does not support this card, or only with the other kind
of module.
Why: each driver branch drops old chips and knows no later ones; Blackwell needs the open kernel modules, chips before
Turing the closed ones.
How to tell: NVRM lines of the kernel log (source text: NVIDIA open-gpu-kernel-modules, kernel-open/nvidia).
"""

import re
from collections.abc import Iterator

from rigwise.knowledge.advice import driver_commands
from rigwise.records.excerpt import log_lines
from rigwise.records.finding import Problem, Severity
from rigwise.records.rig import Rig
from rigwise.speech import say

NEEDS_OPEN = r"NVRM:.{0,80}requires use of the NVIDIA open kernel"
NEEDS_CLOSED = r"NVRM:.{0,80}is not supported by open\b"
LEGACY = r"NVRM:.{0,80}the NVIDIA (?P<branch>\d{2,3})\.xx Legacy drivers"
UNKNOWN = r"NVRM:.{0,80}not supported by the(?! required)"
WORKS = r"Initialized nvidia-drm"
"""The driver brought another card up."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A problem when the driver says why it leaves a card out; a warning where it drives another one."""
    if rig.num_gpus.present and rig.num_gpus.need():
        return
    rig.kernel_log.need()
    for pattern in (NEEDS_OPEN, NEEDS_CLOSED, LEGACY, UNKNOWN):
        lines = log_lines(rig.kernel_log, pattern)
        if lines:
            works = log_lines(rig.kernel_log, WORKS)
            because, action = _words(pattern, lines[-1].need())
            steps = driver_commands(rig) if pattern == NEEDS_OPEN else ()
            yield Problem(because, lines[-2:], steps, Severity.WARNING if works else None, action=action)
            return


def _words(pattern: str, line: str) -> tuple[str, str]:
    """What the driver says, and which one to install."""
    if pattern == NEEDS_OPEN:
        return (
            say("This card works only with the open kernel modules, and the closed ones are installed."),
            say("Install the driver with the open kernel module, then restart."),
        )
    if pattern == NEEDS_CLOSED:
        return (
            say("This card is older than Turing and works only with the closed kernel module; the open one is loaded."),
            say("Install the driver with the closed kernel module, of branch 580 or older, then restart."),
        )
    legacy = re.search(LEGACY, line)
    if legacy:
        branch = legacy["branch"]
        return (
            say("This driver no longer supports the card; the last branch that does is {branch}.", branch=branch),
            say("Install driver branch {branch}, then restart.", branch=branch),
        )
    return (
        say("This release of the driver does not know the card: it is newer than the release, or too old for it."),
        say("Install a newer driver for a new card, the legacy branch for an old one, then restart."),
    )
