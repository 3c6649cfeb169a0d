"""Other programs hold the GPU's memory.

What: processes hold a share of the VRAM that a training run would miss.
Why: the run has that much less; an idle holder is often a forgotten notebook or a process that did not end.
How to tell: the driver's process list and the share in use. A desktop of usual size stays unmentioned, as does a GPU
at work that has half of its memory left, or one that is cut into slices (MIG), whose memory nobody else could have.
One sample of the utilisation cannot prove that a holder is idle, so the words say "at this moment".
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem, Severity
from rigwise.records.gpu import Gpu, GpuProcess
from rigwise.records.rig import Rig
from rigwise.speech import say
from rigwise.units import memory, percent

COMPUTE_RATIO = 0.05
"""Our choice: an idle CUDA context alone takes 0.2 to 0.5 GiB, 1 to 3 % of a 16 GiB card; more holds real work."""
ANY_RATIO = 0.15
"""Our choice: a desktop with a browser takes 0.5 to 1.2 GiB (7 to 11 % on the captures at hand)."""
MOST_RATIO = 0.5
"""Our choice: with half of the VRAM gone, advice about batch sizes for this card no longer holds."""
ALMOST_ALL_RATIO = 0.75
"""Our choice: an idle server that keeps its model loaded leaves room for other work until so much is gone."""
IDLE_UTILIZATION_RATIO = 0.05
"""Our choice: a desktop alone stays below it most of the time."""
DESKTOP_BYTES = 5 * 2**29
"""Our choice: 2.5 GiB; programs that draw take so much with a browser and two large screens, whatever the card has."""
NUM_NAMED = 4


def check_gpu(gpu: Gpu, rig: Rig) -> Iterator[Problem]:
    """A note when VRAM is held; a warning when an idle GPU has lost almost all of it."""
    total, processes = gpu.memory_total_bytes.need(), gpu.processes.need()
    held_ratio = gpu.memory_used_bytes.need() / total
    compute_ratio = sum(process.used_bytes or 0 for process in processes if process.kind == "compute") / total
    if not processes or gpu.mig_enabled.value or (held_ratio < ANY_RATIO and compute_ratio < COMPUTE_RATIO):
        return
    only_draw = all(process.kind == "graphics" for process in processes)
    if only_draw and gpu.memory_used_bytes.need() <= DESKTOP_BYTES:
        return
    utilization = gpu.gpu_utilization_ratio
    idle = utilization.value is not None and utilization.value <= IDLE_UTILIZATION_RATIO
    if utilization.present and not idle and held_ratio < MOST_RATIO:
        return
    severity = Severity.WARNING if idle and held_ratio >= ALMOST_ALL_RATIO and not only_draw else None
    yield Problem(_because(gpu, idle), (gpu.memory_used_bytes, utilization, gpu.processes), severity=severity)


def _because(gpu: Gpu, idle: bool) -> str:
    used, total = gpu.memory_used_bytes.need(), gpu.memory_total_bytes.need()
    processes = sorted(gpu.processes.need(), key=lambda process: process.used_bytes or 0, reverse=True)
    facts = {"used": memory(used), "total": memory(total), "share": percent(used / total)}
    holders = ", ".join(_named(process) for process in processes[:NUM_NAMED])
    if idle:
        return say(
            "{used} of {total} ({share}) is in use while the GPU is idle at this moment: {holders}.",
            **facts,
            holders=holders,
        )
    return say("{used} of {total} ({share}) is in use: {holders}.", **facts, holders=holders)


def _named(process: GpuProcess) -> str:
    name = process.name or say("process of another container or user")
    size = memory(process.used_bytes) if process.used_bytes is not None else say("size not told")
    return say("{name} (PID {pid}, {size})", name=name, pid=process.pid, size=size)
