"""What the bursts of Xids say of each GPU, as problems: the same words whichever check asks."""

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import groupby

from rigwise.knowledge.xid_bursts import NVLINK5, RECOVERY, SEVERITIES, Burst, bursts, row_of
from rigwise.knowledge.xids import NvLink5Row, XidFamily, XidSeverity, nvlink5
from rigwise.records.finding import Problem, Severity
from rigwise.records.gpu import Gpu
from rigwise.records.kernel_events import DATED_SECONDS, EventKind, LogEvent, events_of, pci_address
from rigwise.records.rig import Rig
from rigwise.speech import say
from rigwise.units import duration

OFF_THE_BUS = 79
OLD_DAYS = 1
"""Our choice: an Xid this old on a GPU that still answers is history, not the state of the machine."""


def xid_problems(rig: Rig, family: XidFamily) -> Iterator[Problem]:
    """One problem for each GPU whose bursts have their root in this family; its gravest burst leads."""
    if not events_of(rig.log_events.value_or(()), EventKind.XID):
        rig.kernel_log.need()
    found = [burst for burst in bursts(rig.log_events.need(), driver_version(rig)) if burst.row.family is family]
    by_address = sorted(found, key=lambda burst: burst.root.address)
    for address, group in groupby(by_address, key=lambda burst: burst.root.address):
        gpu = gpu_at(rig, address)
        worth = [burst for burst in group if _is_reported_here(burst, gpu)]
        if worth:
            yield _problem(worth, rig, gpu)


def label_at(rig: Rig, address: str) -> str:
    """What the GPU at a PCI address is called, answering or not; "" where the line names no address."""
    for gpu in rig.gpus:
        if address and pci_address(gpu.pci_bus_id.value or "") == address:
            return gpu.label
    return say("GPU {address}", address=address) if address else ""


def gpu_at(rig: Rig, address: str) -> Gpu | None:
    """The GPU that answers at a PCI address; None where none is known to."""
    for gpu in rig.gpus:
        if address and gpu.reachable.present and pci_address(gpu.pci_bus_id.value or "") == address:
            return gpu
    return None


def driver_version(rig: Rig) -> str:
    """The version of the driver that wrote the log, as far as anything tells; "" where nothing does."""
    loaded = [event.subject for event in rig.log_events.value or () if event.kind is EventKind.DRIVER_LOADED]
    return rig.driver_version.value or rig.kernel_driver_version.value or (loaded[-1] if loaded else "")


def _is_reported_here(burst: Burst, gpu: Gpu | None) -> bool:
    """Nothing benign, no request taken back; and a GPU still off the bus is the business of the check gpu_lost."""
    off_the_bus = burst.root.code == OFF_THE_BUS and not burst.past and gpu is None
    taken_back = burst.root.code == RECOVERY and burst.recovery == 0
    return burst.severity is not XidSeverity.BENIGN and not off_the_bus and not taken_back


def _problem(found: Sequence[Burst], rig: Rig, gpu: Gpu | None) -> Problem:
    current = [burst for burst in found if not _is_history(burst, rig, gpu)]
    lead = max(current or found, key=lambda burst: SEVERITIES.index(burst.severity))
    action = _action(lead) if current else say("Do nothing now; look again if it repeats.")
    labels = tuple(event for event in lead.events if event.code == RECOVERY)[-1:]
    shown = dict.fromkeys((lead.root, *labels, *lead.before))
    return Problem(
        because=" ".join(_sentences(lead, current or found, rig, gpu)),
        readings=tuple(event.reading for event in shown),
        severity=_severity(lead, bool(current), gpu),
        target=label_at(rig, lead.root.address),
        action=action,
        next_steps=_next_steps(lead, gpu) if current else (),
    )


def _is_history(burst: Burst, rig: Rig, gpu: Gpu | None) -> bool:
    """Whether it is over: before the last start, taken back by the driver, or old while the GPU answers."""
    if burst.past or gpu is None:
        return burst.past
    if burst.recovery == 0 or burst.root.code == OFF_THE_BUS:
        return True
    seconds = burst.root.seconds or 0.0
    if not rig.collected_on or seconds < DATED_SECONDS:
        return False
    age = date.fromisoformat(rig.collected_on) - datetime.fromtimestamp(seconds, UTC).date()
    return age > timedelta(days=OLD_DAYS)


def _severity(lead: Burst, current: bool, gpu: Gpu | None) -> Severity:
    """As grave as its burst; history is a note, or a warning where nothing shows that the GPU came back."""
    if current:
        return Severity(lead.severity)
    grave = lead.severity is XidSeverity.SERIOUS and gpu is None
    return Severity.WARNING if grave else Severity.NOTE


def _sentences(lead: Burst, found: Sequence[Burst], rig: Rig, gpu: Gpu | None) -> Iterator[str]:
    same = [event for burst in found for event in burst.events if event.code == lead.root.code]
    process = lead.root.process
    yield say(
        "Xid {code}, {name}: {times}{process}.",
        code=lead.root.code,
        name=lead.row.name if lead.row.code == lead.root.code else say("after Xid {code}", code=lead.row.code),
        times=_times(same),
        process=say(", first for {process}", process=process) if process else "",
    )
    decoded = nvlink5(lead.row.code, lead.root.line)
    if decoded:
        yield _registers(decoded)
    others = {event.code for burst in found for event in burst.events} - {lead.root.code}
    if others:
        yield say(
            "With it: Xid {codes}.", codes=", ".join(str(code) for code in sorted(map(int, filter(None, others))))
        )
    yield say("It points to: {blamed}.", blamed=lead.row.blamed)
    if lead.row.older:
        yield say("The meaning is the one of NVIDIA's older table.")
    if lead.before:
        yield say("In the minute before, the log reports other trouble with links, power, heat or memory.")
    if lead.past:
        yield say("The machine or its driver was started again since.")
    elif _is_history(lead, rig, gpu):
        yield say("The GPU answers since.")
    yield from dict.fromkeys(rma for event in lead.events if (rma := row_of(event, driver_version(rig)).rma))


def _times(events: Sequence[LogEvent]) -> str:
    """How often, and within which time: `5 times in 43.0 s`."""
    if len(events) == 1:
        return say("once")
    first, last = events[0].seconds, events[-1].seconds
    if first is None or last is None or last < first:
        return say("{count} times", count=len(events))
    return say("{count} times in {span}", count=len(events), span=duration(last - first))


def _registers(decoded: NvLink5Row) -> str:
    if decoded.side:
        return say("Its registers say: {fatality}, {side}.", fatality=decoded.fatality, side=decoded.side)
    return say("Its registers say: {fatality}.", fatality=decoded.fatality)


def _action(lead: Burst) -> str:
    """What the driver itself asks for, where it does."""
    match lead.recovery:
        case 1:
            return say("Stop the programs on this GPU and reset it: the driver asks for a reset.")
        case 2 | 7:
            return say("Restart the machine: the driver asks for a restart.")
        case 3:
            return say("Stop the programs that copy between GPUs: the driver asks for that.")
        case 4:
            return say("Let the programs on this GPU end, then reset it: the driver asks for that.")
        case 5:
            return say("Start the IMEX service of every machine of the domain again: the driver asks for that.")
        case 6:
            return say("Stop the programs on this GPU and reset it, its PCIe bus included: the driver asks for that.")
        case _ if lead.row.code in NVLINK5 and lead.severity is not XidSeverity.SERIOUS:
            return say("Look for a program or a GPU that ended at that time; reset the GPUs of the link if it repeats.")
        case _:
            return lead.row.what_to_do


def _next_steps(lead: Burst, gpu: Gpu | None) -> tuple[str, ...]:
    if lead.recovery in (2, 7):
        return ("sudo reboot",)
    if lead.severity is XidSeverity.SERIOUS and gpu is not None:
        return (f"sudo nvidia-smi --gpu-reset -i {gpu.index}",)
    return ()
