"""`find_batch`: the largest batch size that holds, proved by running it; every probe in a child process.

Nothing runs in the caller's process: its models, its random numbers and its GPU memory are as they were.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from rigwise.errors import BadInput, CannotTell
from rigwise.probes.gpu.gpus_from_nvml import read_gpus, read_num_gpus
from rigwise.probes.gpu.processes import name_processes
from rigwise.records.batch import BatchProbe, BatchSearch
from rigwise.records.gpu import GpuProcess
from rigwise.sources.live import LiveSource
from rigwise.speech import say
from rigwise.train.batch.breakdown import Prediction, predict
from rigwise.train.batch.causes import leak_words
from rigwise.train.batch.child import SHORT_STEPS, Build, MakeDevice, default_device
from rigwise.train.batch.probing import Holders, Prober
from rigwise.train.batch.ranks import Ranks, ranks_here
from rigwise.train.batch.search import Effort, NothingFits, Search
from rigwise.train.batch.sizes import first_size
from rigwise.train.batch.verdict import NoBatchHolds, another_rank_found_none, nothing_fits
from rigwise.units import memory

DEFAULT_EFFORT = Effort()


def gpu_holders(uuid: str) -> Sequence[GpuProcess]:
    """The processes that hold memory of this GPU now, as the driver names them."""
    source = LiveSource()
    gpus = name_processes(source, read_gpus(source, read_num_gpus(source)))
    return next((gpu.processes.value or () for gpu in gpus if gpu.uuid.value == uuid), ())


def find_batch(
    build: Build,
    *,
    most: int,
    smallest: int = 1,
    start: int | None = None,
    effort: Effort = DEFAULT_EFFORT,
    make_device: MakeDevice = default_device,
    holders: Holders = gpu_holders,
    ranks: Ranks | None = None,
    told: Callable[[BatchProbe], object] | None = None,
) -> BatchSearch:
    """The largest batch size, within an eighth, that ran a soak, a validation and a checkpoint with headroom left.

    Args:
        build: batch size to the `Training` at that size; a function or class of a module, for it runs in child
            processes. Its step 0 must be given the worst real batch.
        most: the largest size that makes sense: the number of training samples, or less.
        smallest: the smallest one; 2 where BatchNorm is used.
        start: where to begin; None for the size that a trace without memory predicts.
        effort: how long a size is tried.
        make_device: the device in the child; the first GPU, or the CPU.
        holders: who else holds the GPU's memory, by its UUID.
        ranks: the job to agree with; None for that of `torch.distributed`, if there is one.
        told: takes each probe as it ends.

    Raises:
        BadInput: the sizes make no sense, or `build` cannot be sent to a child process.
        NoBatchHolds: nothing fits, with a breakdown of the bytes; or a leak, another process, a fault.
        CannotTell: another rank did not answer.
    """
    if not 1 <= smallest <= most or effort.soak_steps < 1:
        raise _no_range(smallest, most, effort.soak_steps)
    job = ranks or ranks_here()
    quiet = effort.silence_seconds
    prober = Prober(build=build, make_device=make_device, silence_seconds=quiet, holders=holders)
    prediction = predict(build, make_device, smallest=smallest, most=most, silence_seconds=quiet)
    search = Search(prober.run, smallest, most, effort, told)
    first = min(most, max(smallest, start)) if start else first_size(prediction.batch_size, smallest, most)
    return _found(search, agreed(search, first, prediction, job), prediction)


def _found(search: Search, size: int, prediction: Prediction) -> BatchSearch:
    notes = tuple(_notes(search.probes, size))
    return BatchSearch(batch_size=size, probes=tuple(search.probes), predicted=prediction.at(size), notes=notes)


def agreed(search: Search, first: int, prediction: Prediction, ranks: Ranks) -> int:
    """The size that held on every rank; a rank on which none did tells the others before it gives up."""
    try:
        size = search.largest(first)
    except NothingFits:
        failure = nothing_fits(search.probes, prediction.at(search.probes[-1].batch_size))
        _give_up(ranks)
        raise failure from None
    except NoBatchHolds:
        _give_up(ranks)
        raise
    while True:
        smallest, largest = ranks.smallest_and_largest(size)
        if smallest == 0:
            raise another_rank_found_none(search.probes)
        if smallest == largest:
            return size
        if size > smallest:
            size = smallest if search.soak(smallest).held else 0


def _give_up(ranks: Ranks) -> None:
    """Tell the other ranks that this one has no size; its own reason counts more than their silence."""
    with suppress(CannotTell):
        ranks.smallest_and_largest(0)


def _notes(probes: Sequence[BatchProbe], size: int) -> Iterator[str]:
    """What the probes say of the sizes around the chosen one."""
    proof = max((probe for probe in probes if probe.held and probe.batch_size == size), key=lambda probe: probe.steps)
    if proof.need_bytes is not None and proof.free_at_start_bytes is not None:
        yield say(
            "batch {batch} takes {need} of the {free} that were free",
            batch=size,
            need=memory(proof.need_bytes),
            free=memory(proof.free_at_start_bytes),
        )
    if proof.growth is not None:
        yield leak_words(proof)
    above = [probe for probe in probes if not probe.held and probe.batch_size > size]
    for probe in sorted(above, key=lambda probe: probe.batch_size)[:1]:
        yield _why_not(probe)
    late = [probe for probe in above if probe.cause == "late_peak" and probe.steps > SHORT_STEPS]
    yield from (_not_stable(probe) for probe in late[:1])


def _why_not(probe: BatchProbe) -> str:
    if probe.phase == "validation":
        return say(
            "batch {batch} trains, but its validation does not fit: a smaller batch for the validation lets it grow",
            batch=probe.batch_size,
        )
    return say("batch {batch} does not hold: {text}", batch=probe.batch_size, text=probe.text)


def _not_stable(probe: BatchProbe) -> str:
    return say("batch {batch} fits once and is not stable: {text}", batch=probe.batch_size, text=probe.text)


def _no_range(smallest: int, most: int, soak_steps: int) -> BadInput:
    return BadInput(
        say("no batch size to search"),
        say("smallest {smallest}, most {most}, {steps} steps", smallest=smallest, most=most, steps=soak_steps),
        say("give 1 <= smallest <= most, and at least one step"),
    )
