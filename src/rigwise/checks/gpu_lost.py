"""A GPU fell off the bus.

What: the driver lists a GPU that answers "GPU is lost" (NVML_ERROR_GPU_IS_LOST, 15), or the kernel log reports one
that the driver no longer lists.
Why: the PCIe link is down: power, cable, riser, seating or heat, more rarely a defect. Only a restart brings it back.
How to tell: NVML's return code; the kernel log says Xid 79, or "fallen off the bus" without the word Xid.
"""

import re
from collections.abc import Iterator
from typing import Any

from rigwise.records.evidence import Status
from rigwise.records.excerpt import log_lines
from rigwise.records.finding import Problem
from rigwise.records.reading import Reading
from rigwise.records.rig import Rig
from rigwise.speech import say

FALLEN = r"fallen off the bus|NVRM: Xid \([^)]*\).*?: 79,"
"""The line comes in several forms, also without an Xid (NVSentinel#155)."""
ADDRESS = r"\b[0-9a-fA-F]{4,8}:([0-9a-fA-F]{2}:[0-9a-fA-F]{2})\b"
"""Domain, bus and device; the domain tells it from a time of day."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """One problem for each lost GPU."""
    lines = log_lines(rig.kernel_log, FALLEN)
    lost = [gpu for gpu in rig.gpus if gpu.reachable.status is Status.LOST]
    alive = {slot(gpu.pci_bus_id.value) for gpu in rig.gpus if gpu.pci_bus_id.value and gpu not in lost}
    strangers = tuple(line for line in lines if slot(line.quote.text) not in alive | ({""} if alive else set()))
    for gpu in lost:
        own = tuple(line for line in strangers if slot(line.quote.text) == slot(gpu.pci_bus_id.value or ""))
        yield _problem((gpu.reachable, *(own or (strangers if len(lost) == 1 else ()))[:2]), gpu.label)
    if lost:
        return
    if strangers or Status.LOST in (rig.num_gpus.status, rig.nvml.status):
        answers = tuple(answer for answer in (rig.nvml, rig.num_gpus) if answer.status is Status.LOST)
        yield _problem((*answers[:1], *strangers[:2]))
        return
    rig.num_gpus.answered()


def slot(text: str) -> str:
    """The bus and device of the first PCI address in a text, without domain and function; "" for none.

    >>> slot("13:02:44 NVRM: Xid (PCI:0000:41:00): 79, pid=1, GPU has fallen off the bus."), slot("0000:0b:00.0")
    ('41:00', '0b:00')
    """
    found = re.search(ADDRESS, text)
    return found[1].lower() if found else ""


def _problem(readings: tuple[Reading[Any], ...], target: str = "") -> Problem:
    logged = any(reading.name == "kernel log" for reading in readings)
    because = (
        say("The driver and the kernel lost the GPU: usually its power, cable, riser or seating, rarely your code.")
        if logged
        else say("The GPU stopped answering; the kernel log at hand does not say why. Suspect power and seating first.")
    )
    return Problem(because, readings, target=target)
