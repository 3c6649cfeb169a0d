"""VRAM is in use that no process accounts for.

What: the driver counts more memory in use than its processes hold together.
Why: a process that died without its memory being freed, one in another container, or a virtual machine has it.
How to tell: used minus the sum of all processes, beyond what the driver itself takes. Not measurable under WDDM,
WSL2 or MIG, nor inside a container, where the driver does not name every process.
"""

from collections.abc import Iterator

import msgspec

from rigwise.records.evidence import Status
from rigwise.records.finding import Problem, Severity
from rigwise.records.gpu import Gpu, GpuProcess
from rigwise.records.reading import AbsentReading, Reading
from rigwise.records.rig import Rig
from rigwise.speech import say
from rigwise.units import MIB, memory

DRIVER_BYTES = 768 * MIB
"""Our choice, above what healthy captures show: up to 0.6 GiB where `used` includes the driver's reservation."""
NOTABLE_RATIO = 0.05
"""Our choice: less changes no decision about a batch size."""
BUSY_UTILIZATION_RATIO = 0.05
"""Our choice: a desktop alone stays below it most of the time."""
SERIOUS_RATIO = 0.25
"""Our choice: a quarter of the card gone is worth a restart before training."""


def check_gpu(gpu: Gpu, rig: Rig) -> Iterator[Problem]:
    """A note when memory is unaccounted for; a warning when it is much."""
    processes = _all_processes(gpu, rig)
    total, used = gpu.memory_total_bytes.need(), gpu.memory_used_bytes.need()
    known = sum(process.used_bytes or 0 for process in processes)
    hidden = used - known
    if hidden < max(DRIVER_BYTES, NOTABLE_RATIO * total):
        return
    because = say(
        "{used} is in use, of which processes hold {known}: none accounts for the other {hidden}.",
        used=memory(used),
        known=memory(known),
        hidden=memory(hidden),
    )
    severity = Severity.WARNING if hidden >= SERIOUS_RATIO * total else None
    yield Problem(because, (gpu.memory_used_bytes, gpu.processes), severity=severity)


def _all_processes(gpu: Gpu, rig: Rig) -> tuple[GpuProcess, ...]:
    """Every process with its size.

    Raises:
        AbsentReading: on this system the driver does not name all of them.
    """
    processes = gpu.processes.need()
    in_container = rig.host.container.value_or("none") != "none"
    elsewhere = gpu.driver_model.value == "WDDM" or rig.host.wsl.value or gpu.mig_enabled.value or in_container
    # a GPU at work of which nothing is listed: the list was made in a container, where nothing can be
    elsewhere = elsewhere or (not processes and gpu.gpu_utilization_ratio.value_or(0.0) > BUSY_UTILIZATION_RATIO)
    if elsewhere or any(process.used_bytes is None for process in processes):
        raise AbsentReading(_unmeasurable(gpu.processes))
    return processes


def _unmeasurable(processes: Reading[tuple[GpuProcess, ...]]) -> Reading[tuple[GpuProcess, ...]]:
    return msgspec.structs.replace(
        processes, name=say("VRAM of every process"), value=None, status=Status.NOT_SUPPORTED
    )
