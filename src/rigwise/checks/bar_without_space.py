"""A card has no room for its memory window.

What: the firmware, or the hypervisor of a virtual machine, gave a card no address range for a memory window (BAR).
Why: the driver reaches the card's memory through it, and starts no card without.
How to tell: "BAR1 is 0M" in the kernel log since the last start of the driver, for a card that does not answer.
"""

from collections.abc import Iterator

from rigwise.knowledge.failed_starts import NO_RANGE, cards, failed_starts, milder_beside_others
from rigwise.records.finding import Problem
from rigwise.records.rig import Rig
from rigwise.speech import say


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A problem when a card's window has no address; milder while other cards answer."""
    rig.kernel_log.need()
    found = [event for event in failed_starts(rig) if NO_RANGE in event.line]
    if found:
        because = say("The machine's firmware, or its hypervisor, gave {card} no address range.", card=cards(found))
        yield Problem(because, tuple(event.reading for event in found[:2]), severity=milder_beside_others(rig))
