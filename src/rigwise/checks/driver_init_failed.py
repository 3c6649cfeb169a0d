"""The driver found a GPU and could not start it.

What: the driver writes that the start of a card failed (RmInitAdapter), that the firmware of the machine gave the card
no address range, or that its power plugs are not connected.
Why: the card is on the bus and belongs to the driver, and still no program can use it.
How to tell: NVRM lines of the kernel log since the last start of the driver, for a card that does not answer.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem, Severity
from rigwise.records.kernel_events import EventKind, LogEvent, events_of, pci_address
from rigwise.records.rig import Rig
from rigwise.speech import say

NO_RANGE = "is 0M @"
NOT_ASKED = "probed"
"""The driver met no card that another one had not taken."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A problem when a card's start failed and the card does not answer now; milder while others do."""
    rig.kernel_log.need()
    alive = {pci_address(gpu.pci_bus_id.value or "") for gpu in rig.gpus if gpu.reachable.present} - {""}
    failed = [
        event
        for event in events_of(rig.log_events.need(), EventKind.INIT_FAILED, EventKind.POWER)
        if not event.past and event.address not in (alive | {""} if alive else set())
    ]
    if failed:
        yield _problem(failed, Severity.WARNING if alive else None)


def _problem(failed: list[LogEvent], severity: Severity | None) -> Problem:
    unpowered = [event for event in failed if event.kind is EventKind.POWER]
    without_range = [event for event in failed if NO_RANGE in event.line]
    addresses = ", ".join(dict.fromkeys(event.address for event in failed if event.address))
    card = say("the card at {addresses}", addresses=addresses) if addresses else say("a card")
    if unpowered:
        because = say("The power plugs of {card} are not connected.", card=card)
        action = say("Power the machine off and seat every power plug of the card.")
        return Problem(because, (unpowered[0].reading,), severity=severity, action=action)
    if without_range:
        because = say("The machine's firmware gave {card} no address range.", card=card)
        action = say(
            "Switch Above 4G Decoding on in the firmware; give a virtual machine 64-bit address space for the card."
        )
        return Problem(because, (without_range[0].reading,), severity=severity, action=action)
    taken = [event for event in failed if NOT_ASKED in event.line]
    if taken and len(taken) == len(failed):
        because = say(
            "Another driver, such as nouveau or vfio-pci, holds the card, so NVIDIA's was not asked to start it."
        )
        action = say("Keep the other driver off the card, then restart.")
        return Problem(because, (taken[-1].reading,), ("lspci -nnk -d 10de:",), severity, action=action)
    because = say("The driver could not start {card}; lines that say so: {count}.", card=card, count=len(failed))
    return Problem(because, tuple(event.reading for event in failed[:2]), severity=severity)
