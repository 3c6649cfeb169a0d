"""Copies between host and GPU are far slower than their link.

What: copies from pinned memory reach less than half of what the PCIe link carries.
Why: everything that passes through RAM waits for it. Causes are a link that is slower than it says (riser, retimer),
memory on the far CPU socket, one memory channel, or a power-saving CPU.
How to tell: measured copies (`rigwise check --deep`, nvbandwidth, bandwidthTest) against generation and lanes of the
link; a sound machine reaches 0.75 to 0.85 of it. Virtual machines and GPUs without a slot are left out. Of several
runs, one that is less than half as fast as another tells it without the link: it ran far from the GPU, or not alone.
"""

from collections.abc import Iterator
from typing import Any

from rigwise.knowledge.pcie import gb_per_second, has_slot
from rigwise.records.finding import Problem
from rigwise.records.gpu import Gpu
from rigwise.records.reading import Reading
from rigwise.records.rig import Rig
from rigwise.records.transfers import LookUnderLoad, trial_of
from rigwise.speech import say
from rigwise.units import significant

LEAST_RATIO = 0.5
"""Our choice; pcie_links.csv has what sound machines measured: 0.75 and more."""


def check_gpu(gpu: Gpu, rig: Rig) -> Iterator[Problem]:
    """A warning when the slower direction is below half of the link."""
    if (apart := _runs_apart(gpu, rig)) is not None:
        yield apart
        return
    speed, reading, load = _measured(gpu, rig)
    if speed is None or not has_slot(gpu, rig):
        return
    gen = (load.pcie_gen if load else None) or gpu.pcie_link_gen_max.need()
    lanes = (load.pcie_width if load else None) or gpu.pcie_link_width.need()
    full = gb_per_second(gen, lanes)
    if full and speed < LEAST_RATIO * full:
        because = say(
            "Copies from pinned memory reach {speed} GB/s; PCIe generation {gen} with {lanes} lanes carries {full}.",
            speed=significant(speed),
            gen=gen,
            lanes=lanes,
            full=significant(full),
        )
        yield Problem(because, (reading,))


def _runs_apart(gpu: Gpu, rig: Rig) -> Problem | None:
    """The problem that one of several runs was far slower than the best; None where they agree."""
    copies = rig.topology.host_copies
    found = next((one for one in copies.value or () if one.gpu == gpu.index), None)
    if found is None or found.slowest_run is None or found.to_gpu is None or found.from_gpu is None:
        return None
    if found.slowest_run >= LEAST_RATIO * min(found.to_gpu, found.from_gpu):
        return None
    because = say(
        "One run reaches {slow} GB/s, another {fast}: the slow one used CPUs or memory far from the GPU, or shared it.",
        slow=significant(found.slowest_run),
        fast=significant(min(found.to_gpu, found.from_gpu)),
    )
    steps = ("nvidia-smi topo -m   # CPU Affinity names the CPUs next to each GPU", "numactl -N 0 -m 0 nvbandwidth")
    return Problem(because, (copies,), next_steps=steps)


def _measured(gpu: Gpu, rig: Rig) -> tuple[float | None, Reading[Any], LookUnderLoad | None]:
    """GB/s of the slower direction, where that was read, and the look under load."""
    copies = rig.topology.host_copies
    found = next((one for one in copies.value or () if one.gpu == gpu.index), None)
    if found is not None:
        copies.need()
        return _slower(found.to_gpu, found.from_gpu), copies, None
    measured = trial_of(gpu, rig.deep.transfers)
    trial = measured.need()
    return _slower(trial.pinned_to_gpu, trial.pinned_from_gpu), measured, trial.load


def _slower(*speeds: float | None) -> float | None:
    return min((speed for speed in speeds if speed is not None), default=None)
