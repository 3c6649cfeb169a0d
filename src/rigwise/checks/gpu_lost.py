"""A GPU fell off the bus.

What: the driver lists a GPU that answers "GPU is lost" (NVML_ERROR_GPU_IS_LOST, 15), the kernel log reports one that
the driver no longer lists or opens, or the bus reads nothing but ones from a card that the driver holds.
Why: the PCIe link is down: power, cable, riser, seating or heat, more rarely a defect. Only a restart brings it back.
How to tell: NVML's return code; the kernel log says Xid 79, or "fallen off the bus" without the word Xid; `lspci`
prints (rev ff). A card that no driver holds reads so too when a laptop has switched it off.
"""

from collections.abc import Iterator
from typing import Any

from rigwise.knowledge.xid_bursts import trouble_before
from rigwise.records.evidence import Status
from rigwise.records.finding import Problem
from rigwise.records.gpu import Gpu
from rigwise.records.kernel_events import EventKind, LogEvent, pci_address
from rigwise.records.reading import Reading
from rigwise.records.rig import Rig
from rigwise.speech import say

LOGS = ("kernel log", "program output")
"""Where a line that says so comes from: monitors pass Xids on."""
OFF_THE_BUS = 79
"""The Xid of it; the line may come without the word Xid (NVSentinel#155)."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """One problem for each lost GPU."""
    alive = {pci_address(gpu.pci_bus_id.value or "") for gpu in rig.gpus if gpu.reachable.present} - {""}
    answering = alive | ({""} if alive else set())
    fallen = [event for event in rig.log_events.value_or(()) if _fell(event) and event.address not in answering]
    gone = {event.address for event in fallen}
    lost = [gpu for gpu in rig.gpus if gpu.reachable.status is Status.LOST or _is_gone(gpu, gone)]
    for gpu in lost:
        own = [event for event in fallen if event.address == pci_address(gpu.pci_bus_id.value or "")]
        yield _problem((gpu.reachable, *_quoted(own or (fallen if len(lost) == 1 else []), rig)), gpu.label)
    if lost:
        return
    if fallen or Status.LOST in (rig.num_gpus.status, rig.nvml.status):
        answers = tuple(answer for answer in (rig.nvml, rig.num_gpus) if answer.status is Status.LOST)
        yield _problem((*answers[:1], *_quoted(fallen, rig)))
    elif any(not device.answers and device.driver == "nvidia" for device in rig.pci_gpus.value_or(())):
        yield _problem((rig.pci_gpus,))
    else:
        rig.num_gpus.answered()


def _is_gone(gpu: Gpu, gone: set[str]) -> bool:
    """Whether a GPU that cannot be opened, for whatever reason NVML gives, is one that the log saw fall."""
    return not gpu.reachable.answered() and pci_address(gpu.pci_bus_id.value or "") in gone - {""}


def _fell(event: LogEvent) -> bool:
    """Whether a line reports a GPU that fell off the bus since the last start of machine and driver."""
    is_xid = event.kind is EventKind.XID and event.code == OFF_THE_BUS
    return (is_xid or event.kind is EventKind.FALLEN) and not event.past


def _quoted(fallen: list[LogEvent], rig: Rig) -> tuple[Reading[str], ...]:
    """The lines themselves, then what the log reports of links, power or heat in the minute before."""
    before = trouble_before(fallen[0], rig.log_events.value_or(())) if fallen else ()
    return tuple(event.reading for event in (*fallen[:2], *before))


def _problem(readings: tuple[Reading[Any], ...], target: str = "") -> Problem:
    logged = any(reading.name in LOGS for reading in readings)
    because = (
        say("The driver and the kernel lost the GPU: usually its power, cable, riser or seating, rarely your code.")
        if logged
        else say("The GPU stopped answering; the kernel log at hand does not say why. Suspect power and seating first.")
    )
    return Problem(because, readings, target=target)
