"""One description of each GPU from everything that nvidia-smi printed of it.

The load, clocks and link of a GPU belong together: they are those of its busiest moment at hand, never a mixture of
two. What does not change with the load is taken from the most exact output that tells it.
"""

import contextlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from rigwise.knowledge.gpus import find_gpu
from rigwise.probes.gpu.gpus_from_cells import gpu_from_cells, sample_from_cells
from rigwise.probes.gpu.gpus_from_nvml import short_bus_id
from rigwise.probes.gpu.smi_views import GpuCells, SmiView
from rigwise.records.evidence import Quote, Status
from rigwise.records.gpu import Gpu, GpuSample, MemoryErrors
from rigwise.records.reading import Reading, not_asked

OF_THE_MOMENT = frozenset(
    {
        "gpu_utilization_ratio",
        "memory_utilization_ratio",
        "temperature_celsius",
        "temperature_slowdown_celsius",
        "power_draw_watts",
        "sm_clock_mhz",
        "memory_clock_mhz",
        "clocks_event_reasons",
        "performance_state",
        "pcie_link_gen",
        "fan_ratio",
    }
)
"""What changes with the load within a second."""
SAME_MOMENT_SECONDS = 10
"""Our choice: commands of one script follow each other within seconds; a load comes and goes within more."""
SAME_LOAD_RATIO = 0.1
"""Our choice: two looks without a time and so near in utilisation tell of the same load."""
MOST_LOOKS = 40
"""Our choice: besides the busiest one, no more looks at one GPU are read in full."""
NEEDED_FOR_A_SERIES = 5
"""Our choice: fewer looks are single looks."""


class Look(NamedTuple):
    """One GPU in one output."""

    view: SmiView
    gpu: GpuCells
    sample: GpuSample

    @property
    def load(self) -> tuple[float, float, int]:
        """How busy the GPU is; where the utilisation is not told, its power draw decides."""
        busy, draw = self.sample.gpu_utilization_ratio, self.sample.power_draw_watts
        return (-1.0 if busy is None else busy, draw or 0.0, self.view.exactness)


def merged_gpus(views: Sequence[SmiView]) -> tuple[Gpu, ...]:
    """Every GPU that is described, by number."""
    merged = [_merged(looks) for looks in _by_gpu(views)]
    return tuple(sorted(merged, key=lambda gpu: gpu.index))


def _by_gpu(views: Sequence[SmiView]) -> list[list[Look]]:
    """The looks at each GPU, the most exact outputs first, which tell best who is who."""
    groups: list[list[Look]] = []
    names: list[dict[str, str]] = []
    for view in sorted(views, key=lambda one: (_nameless(one), -one.exactness)):
        if _nameless(view) and len(groups) > 1:
            continue  # nothing tells which of the GPUs is meant
        for gpu in view.gpus:
            own = _names(gpu)
            place = next((n for n, known in enumerate(names) if _same(known, own)), -1)
            if place < 0:
                groups.append([])
                names.append({})
            groups[place].append(Look(view, gpu, sample_from_cells(gpu)))
            names[place] = own | names[place]
    return groups


def _nameless(view: SmiView) -> bool:
    """Whether an output speaks of one GPU and does not say which."""
    return not view.numbered and len(view.gpus) == 1 and _names(view.gpus[0]).keys() == {"number"}


def _names(gpu: GpuCells) -> dict[str, str]:
    """By what a GPU is known: PCI address, UUID, number."""
    told = {path: gpu.cells[path].text for path in ("pci/pci_bus_id", "uuid") if path in gpu.cells}
    own = {"number": str(gpu.index)}
    with contextlib.suppress(ValueError):
        own["address"] = short_bus_id(told.get("pci/pci_bus_id", ""))
    if told.get("uuid", "").strip("GPU-0"):
        own["uuid"] = told["uuid"].lower()
    return own


def _same(known: dict[str, str], own: dict[str, str]) -> bool:
    """Whether two descriptions mean one GPU; the surest name that both have decides."""
    for name in ("address", "uuid", "number"):
        if name in known and name in own:
            return known[name] == own[name]
    return False


def _merged(looks: Sequence[Look]) -> Gpu:
    busiest = max(looks, key=lambda look: look.load)
    ordered = sorted(looks, key=lambda look: (not _same_moment(look, busiest), -look.view.exactness))
    read = {id(look): gpu_from_cells(look.gpu, look.view.evidence) for look in ordered[:MOST_LOOKS]}
    known = [read[id(look)] for look in ordered[:MOST_LOOKS]]
    of_the_moment = [read[id(look)] for look in ordered[:MOST_LOOKS] if _same_moment(look, busiest)]
    values: dict[str, Any] = {
        name: _first([getattr(gpu, name) for gpu in (of_the_moment if name in OF_THE_MOMENT else known)])
        for name in Gpu.__struct_fields__
        if isinstance(getattr(known[0], name), Reading)
    }
    values["reachable"] = _reachable(known)
    values["memory_errors"] = _merged_errors([gpu.memory_errors for gpu in known])
    values["samples"] = _samples(looks)
    numbered = [look.gpu.index for look in ordered if look.view.numbered]
    gpu = Gpu(index=(numbered or [known[0].index])[0], **values)
    return gpu if gpu.compute_capability.present else _with_known_capability(gpu)


def _same_moment(look: Look, busiest: Look) -> bool:
    """Whether two looks tell of the same load."""
    if look is busiest or look.view.exactness == busiest.view.exactness:
        return look is busiest  # two outputs of one kind are two moments
    if look.view.taken_at and busiest.view.taken_at:
        return abs((look.view.taken_at - busiest.view.taken_at).total_seconds()) <= SAME_MOMENT_SECONDS
    mine, other = look.sample.gpu_utilization_ratio, busiest.sample.gpu_utilization_ratio
    return mine is not None and other is not None and abs(mine - other) <= SAME_LOAD_RATIO


def _first(readings: Sequence[Reading[Any]]) -> Reading[Any]:
    """The first value; else the first reason that says more than that nobody recorded it."""
    for reading in readings:
        if reading.present:
            return reading
    return next((one for one in readings if one.status is not Status.NOT_RECORDED), readings[0])


def _reachable(gpus: Sequence[Gpu]) -> Reading[bool]:
    """A GPU that any output could not open is not reachable."""
    return next((gpu.reachable for gpu in gpus if not gpu.reachable.present), gpus[0].reachable)


def _merged_errors(errors: Sequence[MemoryErrors]) -> MemoryErrors:
    names = MemoryErrors.__struct_fields__
    return MemoryErrors(**{name: _first([getattr(one, name) for one in errors]) for name in names})


def _samples(looks: Sequence[Look]) -> Reading[tuple[GpuSample, ...]]:
    """The busiest continuous watch, in the order in which it was printed."""
    watches: dict[tuple[str, str], list[Look]] = {}
    for look in looks:
        if look.view.series:
            watches.setdefault((look.view.evidence.key, look.view.series), []).append(look)
    long = [watch for watch in watches.values() if len(watch) >= NEEDED_FOR_A_SERIES]
    name = "samples over time"
    if not long:
        return not_asked(name)
    watch = max(long, key=lambda one: sum(look.load[0] for look in one) / len(one))
    samples = tuple(look.sample for look in watch)
    return Reading(name, samples, Status.OK, Quote(watch[0].view.evidence.origin, _told(samples)))


def _told(samples: Sequence[GpuSample]) -> str:
    """How busy a watch saw the GPU: `6 samples, GPU utilisation: 99 99 98 0 ...`."""
    busy = [f"{round(100 * (one.gpu_utilization_ratio or 0))}" for one in samples[:20]]
    more = " ..." if len(samples) > len(busy) else ""
    return f"{len(samples)} samples, GPU utilisation in %: {' '.join(busy)}{more}"


def _with_known_capability(gpu: Gpu) -> Gpu:
    """The GPU with the compute capability of its model, which nvidia-smi tells only when asked for it."""
    model = find_gpu(gpu.name.value or "", gpu.memory_total_bytes.value)
    if model is None:
        return gpu
    reading = Reading(gpu.compute_capability.name, model.compute_capability, Status.OK, gpu.name.quote)
    return msgspec.structs.replace(gpu, compute_capability=reading)
