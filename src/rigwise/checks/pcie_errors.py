"""The PCIe link of a GPU reports errors.

What: uncorrected PCIe errors (AER) of a GPU, or very many corrected ones.
Why: both mean a poor link: riser, seating, slot or a generation too fast for the path. It often comes before a GPU
falls off the bus.
How to tell: AER lines of the kernel log that name the GPU. Corrected errors in small numbers are normal, and those of
other devices, such as Wi-Fi cards, are none of our business. A port names no card: it is a note where no GPU answers.
"""

from collections.abc import Iterator, Sequence

from rigwise.records.finding import Problem, Severity
from rigwise.records.kernel_events import EventKind, LogEvent, events_of, pci_address
from rigwise.records.reading import Reading
from rigwise.records.rig import Rig
from rigwise.speech import say

MANY_CORRECTED = 100
"""Our choice: a sound link corrects a handful in weeks; a poor riser logs hundreds in an hour."""
OFTEN = 3
OFTEN_SECONDS = 60.0
"""Our choice, for a port of an unknown card: three within a minute are no handful in weeks."""
PORT = "pcieport"


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A warning for a GPU's errors, a note for those of a port whose card is unknown."""
    rig.kernel_log.need()
    errors = [event for event in events_of(rig.log_events.need(), EventKind.AER) if not event.past]
    gpus = _gpu_addresses(rig)
    own = [event for event in errors if _is_of(gpus, event)]
    uncorrected, corrected = _split(own)
    if uncorrected:
        because = say("Uncorrected errors of the PCIe link of a GPU in this log: {count}.", count=len(uncorrected))
        yield Problem(because, _shown(uncorrected))
    elif len(corrected) >= MANY_CORRECTED:
        because = say("The PCIe link of a GPU had to correct {count} errors.", count=len(corrected))
        yield Problem(because, _shown(corrected))
    if not uncorrected:
        ports = [event for event in errors if not _is_of(gpus, event) and PORT in event.line]
        yield from _of_ports(ports, known_gpus=bool(gpus))


def _of_ports(errors: Sequence[LogEvent], *, known_gpus: bool) -> Iterator[Problem]:
    """A note for uncorrected errors, and for frequent corrected ones where nothing tells where the GPUs are."""
    uncorrected, corrected = _split(errors)
    if uncorrected:
        because = say(
            "Uncorrected errors of a PCIe port in this log: {count}; which card is behind it is unknown.",
            count=len(uncorrected),
        )
        yield Problem(because, _shown(uncorrected), ("lspci -tv",), Severity.NOTE)
    elif not known_gpus and _are_frequent(corrected):
        because = say(
            "A PCIe port had to correct {count} errors in this log; which card is behind it is unknown.",
            count=len(corrected),
        )
        action = say("Look which card is behind this port; where it is the GPU, reseat it and its riser.")
        yield Problem(because, _shown(corrected), ("lspci -tv",), Severity.NOTE, action=action)


def _are_frequent(errors: Sequence[LogEvent]) -> bool:
    """Whether several stand within a minute."""
    times = [event.seconds for event in errors if event.seconds is not None]
    return any(0 <= later - earlier <= OFTEN_SECONDS for earlier, later in zip(times, times[OFTEN - 1 :], strict=False))


def _gpu_addresses(rig: Rig) -> set[str]:
    """Where GPUs are, as far as the driver, the bus and the log itself tell."""
    told = {event.address for event in rig.log_events.value_or(()) if event.kind in (EventKind.XID, EventKind.FALLEN)}
    listed = {pci_address(gpu.pci_bus_id.value or "") for gpu in rig.gpus}
    on_bus = {pci_address(device.address) for device in rig.pci_gpus.value_or(())}
    return (told | listed | on_bus) - {""}


def _is_of(gpus: set[str], event: LogEvent) -> bool:
    return event.nvidia or event.address in gpus


def _split(events: Sequence[LogEvent]) -> tuple[list[LogEvent], list[LogEvent]]:
    """Uncorrected errors, and corrected ones."""
    return [event for event in events if event.fatal], [event for event in events if not event.fatal]


def _shown(events: Sequence[LogEvent]) -> tuple[Reading[str], ...]:
    return tuple(event.reading for event in events[:2])
