"""A card has no room for its memory window.

What: the firmware, or the hypervisor of a virtual machine, gave a card no address range for a memory window (BAR).
Why: the driver reaches the card's memory through it, and starts no card without.
How to tell: "BAR1 is 0M" in the kernel log since the last start of the driver, for a card that does not answer; or
the kernel's "no space" for a memory window of an NVIDIA device that it did not place later.
"""

import re
from collections.abc import Iterator

from rigwise.knowledge.failed_starts import NO_RANGE, cards, failed_starts, milder_beside_others, working_cards
from rigwise.records.excerpt import log_lines
from rigwise.records.finding import Problem
from rigwise.records.kernel_events import pci_address
from rigwise.records.reading import Reading
from rigwise.records.rig import Rig
from rigwise.speech import say

UNPLACED = re.compile(
    r"pci (?P<at>\S{12}): BAR (?P<bar>[0-5])(?: \[mem [^\]]{1,80}\]: (?:can't assign; )?no space|: no space for \[mem )"
)
PLACED = re.compile(r"pci (?P<at>\S{12}): BAR (?P<bar>[0-5])(?: \[mem [^\]]{1,80}\]: assigned|: assigned \[mem )")
"""Before Linux 6.9 and since (drivers/pci/setup-res.c)."""
MAKER = re.compile(r"pci (?P<at>\S{12}): \[10de:")


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A problem when a card's window has no address; milder while other cards answer."""
    rig.kernel_log.need()
    found = [event for event in failed_starts(rig) if NO_RANGE in event.line]
    if found:
        because = say("The machine's firmware, or its hypervisor, gave {card} no address range.", card=cards(found))
        yield Problem(because, tuple(event.reading for event in found[:2]), severity=milder_beside_others(rig))
    elif lines := _never_placed(rig):
        address = pci_address(lines[0].need())
        because = say("The kernel found no address range for the card at {address}.", address=address)
        yield Problem(because, lines[:2], severity=milder_beside_others(rig))


def _never_placed(rig: Rig) -> tuple[Reading[str], ...]:
    """The kernel's lines on memory windows of NVIDIA devices, none of which works, that it found no room for."""
    log = rig.kernel_log.need()
    if not any(" no space" in line for line in log):
        return ()
    ours = {found["at"] for line in log if (found := MAKER.search(line))}
    placed = {(found["at"], found["bar"]) for line in log if (found := PLACED.search(line))}
    missing = {
        (found["at"], found["bar"]) for line in log if (found := UNPLACED.search(line)) and found["at"] in ours
    } - placed
    dead = {at for at, _bar in missing if pci_address(at) not in working_cards(rig)}
    lines = (log_lines(rig.kernel_log, rf"pci {re.escape(at)}: BAR.* no space") for at in sorted(dead))
    return tuple(line for own in lines for line in own)
