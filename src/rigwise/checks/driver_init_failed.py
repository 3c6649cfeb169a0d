"""The driver found a GPU and could not start it.

What: the driver writes that the start of a card failed (RmInitAdapter), or that its power plugs are not connected.
Why: the card is on the bus and belongs to the driver, and still no program can use it.
How to tell: NVRM lines of the kernel log since the last start of the driver, for a card that does not answer.
"""

from collections.abc import Iterator

from rigwise.knowledge.failed_starts import NO_RANGE, cards, failed_starts, milder_beside_others
from rigwise.records.finding import Problem, Severity
from rigwise.records.kernel_events import EventKind, LogEvent
from rigwise.records.rig import Rig
from rigwise.speech import say

NOT_ASKED = "probed"
"""The driver met no card that another one had not taken."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A problem when a card's start failed and the card does not answer now; milder while others do."""
    rig.kernel_log.need()
    failed = [event for event in failed_starts(rig) if NO_RANGE not in event.line]
    if failed:
        yield _problem(failed, milder_beside_others(rig))


def _problem(failed: list[LogEvent], severity: Severity | None) -> Problem:
    unpowered = [event for event in failed if event.kind is EventKind.POWER]
    if unpowered:
        because = say("The power plugs of {card} are not connected.", card=cards(failed))
        action = say("Power the machine off and seat every power plug of the card.")
        return Problem(because, (unpowered[0].reading,), severity=severity, action=action)
    taken = [event for event in failed if NOT_ASKED in event.line]
    if taken and len(taken) == len(failed):
        because = say(
            "Another driver, such as nouveau or vfio-pci, holds the card, so NVIDIA's was not asked to start it."
        )
        action = say("Keep the other driver off the card, then restart.")
        return Problem(because, (taken[-1].reading,), ("lspci -nnk -d 10de:",), severity, action=action)
    because = say(
        "The driver could not start {card}; lines that say so: {count}.", card=cards(failed), count=len(failed)
    )
    return Problem(because, tuple(event.reading for event in failed[:2]), severity=severity)
