"""Which cards the driver could not start, as the kernel log tells since the last start of machine and driver."""

from rigwise.records.finding import Severity
from rigwise.records.kernel_events import EventKind, LogEvent, events_of, pci_address
from rigwise.records.rig import Rig
from rigwise.speech import say

NEEDS_OPEN = r"NVRM:.{0,80}requires use of the NVIDIA open kernel"
NEEDS_CLOSED = r"NVRM:.{0,80}is not supported by open\b"
"""The driver's words for a card that wants the other kind of module (NVIDIA open-gpu-kernel-modules, kernel-open)."""
WORKS = r"Initialized nvidia-drm"
"""The driver brought another card up."""
NO_RANGE = "is 0M @"
"""The driver's word for a memory window without an address."""


def failed_starts(rig: Rig) -> list[LogEvent]:
    """The lines about cards that do not answer now, oldest first."""
    alive = working_cards(rig)
    return [
        event
        for event in events_of(rig.log_events.need(), EventKind.INIT_FAILED, EventKind.POWER)
        if not event.past and event.address not in (alive | {""} if alive else set())
    ]


def milder_beside_others(rig: Rig) -> Severity | None:
    """A warning while other cards answer."""
    return Severity.WARNING if working_cards(rig) else None


def cards(events: list[LogEvent]) -> str:
    """The cards that lines name: `the card at 0000:14:00`."""
    addresses = ", ".join(dict.fromkeys(event.address for event in events if event.address))
    return say("the card at {addresses}", addresses=addresses) if addresses else say("a card")


def working_cards(rig: Rig) -> set[str]:
    """The addresses of the GPUs that answer: `0000:41:00`."""
    return {pci_address(gpu.pci_bus_id.value or "") for gpu in rig.gpus if gpu.reachable.present} - {""}
