"""Which cards the driver could not start, as the kernel log tells since the last start of machine and driver."""

from rigwise.records.finding import Severity
from rigwise.records.kernel_events import EventKind, LogEvent, events_of, pci_address
from rigwise.records.rig import Rig
from rigwise.speech import say

NO_RANGE = "is 0M @"
"""The driver's word for a memory window without an address."""


def failed_starts(rig: Rig) -> list[LogEvent]:
    """The lines about cards that do not answer now, oldest first."""
    alive = _alive(rig)
    return [
        event
        for event in events_of(rig.log_events.need(), EventKind.INIT_FAILED, EventKind.POWER)
        if not event.past and event.address not in (alive | {""} if alive else set())
    ]


def milder_beside_others(rig: Rig) -> Severity | None:
    """A warning while other cards answer."""
    return Severity.WARNING if _alive(rig) else None


def cards(events: list[LogEvent]) -> str:
    """The cards that lines name: `the card at 0000:14:00`."""
    addresses = ", ".join(dict.fromkeys(event.address for event in events if event.address))
    return say("the card at {addresses}", addresses=addresses) if addresses else say("a card")


def _alive(rig: Rig) -> set[str]:
    return {pci_address(gpu.pci_bus_id.value or "") for gpu in rig.gpus if gpu.reachable.present} - {""}
