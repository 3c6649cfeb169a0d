"""A busy GPU's PCIe link runs at a lower generation than it could.

What: the GPU is at work, and the link stays below what card and slot can both do.
Why: each generation less halves the speed of every copy between host and GPU. At idle that is power saving, and
normal; under load it is a firmware setting, a riser that cannot carry the speed, or a bad contact.
How to tell: the link's generation while the GPU is busy and in a high performance state, or in the look under load
of `rigwise check --deep`; never at idle.
"""

from collections.abc import Iterator
from typing import Any

from rigwise.knowledge.pcie import gb_per_second, has_slot, slot_of
from rigwise.records.finding import Problem, Severity
from rigwise.records.gpu import Gpu
from rigwise.records.reading import Reading
from rigwise.records.rig import Rig
from rigwise.records.transfers import trial_of
from rigwise.speech import say
from rigwise.units import significant

BUSY_RATIO = 0.5
"""Our choice, as in clocks_held_back."""
HIGH_STATE = 2
"""P0 to P2: CUDA programs run in P2 or P0; from P5 on the driver slows the link to save power."""
SLOW_GENERATION = 1
"""Where a link stays that was never trained up; the others are a limit somebody set, or one riser less."""


def check_gpu(gpu: Gpu, rig: Rig) -> Iterator[Problem]:
    """A warning at generation 1 under load, a note at a higher one that is below the possible."""
    measured = trial_of(gpu, rig.deep.transfers)
    load = measured.value.load if measured.value else None
    now = (load.pcie_gen if load else None) or gpu.pcie_link_gen.need()
    possible = _possible(gpu, rig)
    if now >= possible or not has_slot(gpu, rig):
        return
    if load is None and not _is_busy(gpu):
        return
    readings = (measured, gpu.pcie_link_gen_max) if load else (gpu.pcie_link_gen, gpu.pcie_link_gen_max)
    yield _problem(gpu, now, possible, (*readings, gpu.gpu_utilization_ratio, gpu.performance_state))


def _possible(gpu: Gpu, rig: Rig) -> int:
    """The highest generation that card and slot have in common."""
    limits = (gpu.pcie_link_gen_device_max.value, gpu.pcie_link_gen_host_max.value, slot_of(gpu, rig).gen_max)
    return min((gpu.pcie_link_gen_max.need(), *(limit for limit in limits if limit)))


def _is_busy(gpu: Gpu) -> bool:
    return gpu.gpu_utilization_ratio.need() >= BUSY_RATIO and gpu.performance_state.value_or(0) <= HIGH_STATE


def _problem(gpu: Gpu, now: int, possible: int, readings: tuple[Reading[Any], ...]) -> Problem:
    lanes = gpu.pcie_link_width.value_or(16)
    slow, full = gb_per_second(now, lanes), gb_per_second(possible, lanes)
    because = say(
        "At work, the link runs at PCIe generation {now} of {possible}: {slow} GB/s each way instead of {full}.",
        now=now,
        possible=possible,
        slow=significant(slow or 0),
        full=significant(full or 0),
    )
    shown = tuple(reading for reading in readings if reading.present)
    return Problem(because, shown, severity=None if now == SLOW_GENERATION else Severity.NOTE)
