"""`find_batch`: the largest batch size that holds, proved by running it; every probe in a child process.

Nothing runs in the caller's process: its models, its random numbers and its GPU memory are as they were.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from rigwise.errors import CannotTell
from rigwise.records.batch import BatchProbe, BatchSearch, Breakdown, proof_of
from rigwise.speech import say
from rigwise.train.batch.breakdown import Prediction, predict
from rigwise.train.batch.causes import leak_words
from rigwise.train.batch.child import Build, MakeDevice, default_device
from rigwise.train.batch.others import Holders, gpu_holders
from rigwise.train.batch.probing import Prober
from rigwise.train.batch.ranks import Ranks, ranks_here
from rigwise.train.batch.search import Effort, NothingFits, Search, fail_at_one_step
from rigwise.train.batch.sizes import first_size
from rigwise.train.batch.verdict import NoBatchHolds, another_rank_found_none, nothing_fits, predicted_and_measured
from rigwise.units import memory

DEFAULT_EFFORT = Effort()


def find_batch(
    build: Build,
    *,
    most: int,
    smallest: int = 1,
    start: int | None = None,
    compiled: Build | None = None,
    effort: Effort = DEFAULT_EFFORT,
    make_device: MakeDevice = default_device,
    holders: Holders = gpu_holders,
    ranks: Ranks | None = None,
    told: Callable[[BatchProbe], object] | None = None,
) -> BatchSearch:
    """The largest batch size, within an eighth, that ran a soak, a validation and a checkpoint with headroom left.

    Args:
        build: batch size to the `Training` at that size, whose step 0 is given the worst real batch; a function or
            class of a module, for it runs in child processes.
        most: the largest size that makes sense: the number of training samples, or less.
        smallest: the smallest one; 2 where BatchNorm is used.
        start: where to begin; None for the size that a trace without memory predicts.
        compiled: `build` with `torch.compile`, if the run will use it: what is found without is proved with it.
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
    prober = Prober(build=build, make_device=make_device, silence_seconds=effort.silence_seconds, holders=holders)
    search = Search(prober.run, smallest, most, effort, told)
    return _found(search, prober, compiled, start, ranks or ranks_here())


def _found(search: Search, prober: Prober, compiled: Build | None, start: int | None, job: Ranks) -> BatchSearch:
    prediction = predict(
        prober.build,
        prober.make_device,
        smallest=search.smallest,
        most=search.most,
        silence_seconds=prober.silence_seconds,
    )
    first = first_size(prediction.batch_size, search.smallest, search.most)
    if start:
        first = min(search.most, max(search.smallest, start))
    size = agreed(search, first, prediction, job)
    probes = search.probes
    if compiled is not None:
        proof = search.soaks(prober.compiling(compiled).run, size)
        size = agreed(proof, size, prediction, job)
        probes = [*probes, *proof.probes]
    predicted = prediction.at(size)
    notes = tuple(_notes(probes, size, predicted))
    return BatchSearch(batch_size=size, probes=tuple(probes), predicted=predicted, notes=notes)


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


def _notes(probes: Sequence[BatchProbe], size: int, predicted: Breakdown | None) -> Iterator[str]:
    """What the probes say of the sizes around the chosen one."""
    proof = proof_of(size, probes)
    if proof.compiled:
        yield say("searched without torch.compile, and proved with it")
    if proof.need_bytes is not None and proof.free_at_start_bytes is not None:
        yield say(
            "batch {batch} takes {need} of the {free} that were free",
            batch=size,
            need=memory(proof.need_bytes),
            free=memory(proof.free_at_start_bytes),
        )
        if predicted is not None:
            yield predicted_and_measured(predicted, proof.need_bytes)
    yield from _larger_than_training(proof)
    if proof.growth is not None or proof.kept_by_validation_bytes:
        yield leak_words(proof)
    above = [probe for probe in probes if not probe.held and probe.batch_size > size]
    for probe in sorted(above, key=lambda probe: probe.batch_size)[:1]:
        yield _why_not(probe)
    late = [probe for probe in above if probe.cause == "late_peak" and probe.phase == "soak"]
    yield from (_not_stable(probe) for probe in late[:1])
    unmet = max((probe.steps * probe.batch_size for probe in late), default=0)
    if unmet > proof.steps * size and not fail_at_one_step(late):
        yield say(
            "the {steps} steps of its proof end before sample {sample}, at which a larger batch failed",
            steps=proof.steps,
            sample=unmet,
        )


def _larger_than_training(proof: BatchProbe) -> Iterator[str]:
    """The phases that decide the size because they need more than a training step."""
    peaks = {peak.phase: peak.peak_allocated_bytes for peak in proof.peaks}
    step = max(peaks.get("train", 0), peaks.get("soak", 0))
    validation, checkpoint = peaks.get("validation", 0), peaks.get("checkpoint", 0)
    if validation > step:
        yield say("the validation needs {peak}, a training step {step}", peak=memory(validation), step=memory(step))
    if checkpoint > step:
        yield say("the checkpoint needs {peak}, a training step {step}", peak=memory(checkpoint), step=memory(step))


def _why_not(probe: BatchProbe) -> str:
    if probe.phase == "validation" and probe.ended == "out_of_memory":
        return say(
            "batch {batch} trains, but its validation does not fit: a smaller batch for the validation lets it grow",
            batch=probe.batch_size,
        )
    return say("batch {batch} does not hold: {text}", batch=probe.batch_size, text=probe.text)


def _not_stable(probe: BatchProbe) -> str:
    return say("batch {batch} fits once and is not stable: {text}", batch=probe.batch_size, text=probe.text)
