"""The driver refuses the GPU.

What: the kernel log holds the driver's own statement that it does not support this card; or, beside cards that work,
only with the other kind of module.
Why: each driver branch drops old chips and knows no later ones.
How to tell: NVRM lines of the kernel log (source text: NVIDIA open-gpu-kernel-modules, kernel-open/nvidia).
"""

import re
from collections.abc import Iterator, Sequence

from rigwise.knowledge.failed_starts import NEEDS_CLOSED, NEEDS_OPEN, WORKS
from rigwise.records.excerpt import log_lines
from rigwise.records.finding import Problem, Severity
from rigwise.records.kernel_events import pci_address
from rigwise.records.rig import Rig
from rigwise.speech import say

LEGACY = r"NVRM:.{0,80}the NVIDIA (?P<branch>\d{2,3})\.xx Legacy drivers"
UNKNOWN = r"(?:NVRM:.{0,80}|^[^A-Za-z]{0,40}(?:\S{1,60} )?(?:kernel:)?\s{1,40}is )not supported by the(?! required)"
"""The second line of the message has no mark of its own where a log was wrapped."""
LINES_BACK = 2
"""The message names the card at most so many lines above its verdict."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A problem when the driver says why it leaves a card out; a warning where it drives another one."""
    listed = rig.num_gpus.need() if rig.num_gpus.present else 0
    if listed and not rig.kernel_log.present:
        return
    for pattern in (*((NEEDS_OPEN, NEEDS_CLOSED) if listed else ()), LEGACY, UNKNOWN):
        lines = log_lines(rig.kernel_log, pattern)
        refused = _refused(rig.kernel_log.need(), pattern)
        if lines and (not listed or _is_another(refused, rig)):
            works = listed or log_lines(rig.kernel_log, WORKS)
            because, action = _beside_others(listed) if listed else _words(lines[-1].need())
            yield Problem(because, lines[-2:], severity=Severity.WARNING if works else None, action=action)
            return


def _refused(log: Sequence[str], pattern: str) -> set[str]:
    """The addresses of the cards that the driver refuses, "" for one without."""
    verdicts = [number for number, line in enumerate(log) if re.search(pattern, line)]
    above = [log[max(0, number - LINES_BACK) : number + 1][::-1] for number in verdicts]
    return {next((at for line in lines if (at := pci_address(line))), "") for lines in above}


def _is_another(refused: set[str], rig: Rig) -> bool:
    """Whether fewer cards are refused than work, and none of those that work, so far as they are told apart.

    A log from before another driver was installed refuses the very cards that are listed now.
    """
    known = {pci_address(gpu.pci_bus_id.value or "") for gpu in rig.gpus} - {""}
    return "" not in refused and not refused & known and len(refused) < (rig.num_gpus.value or 0)


def _beside_others(listed: int) -> tuple[str, str]:
    """What a refusal means on a machine where the same driver works."""
    return (
        say("The driver works with {count} GPUs of this machine and refuses this one.", count=listed),
        say("Compare its PCI ID with theirs: an equal card that is refused is at fault itself, or its slot."),
    )


def _words(line: str) -> tuple[str, str]:
    """What the driver says, and which one to install."""
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
