"""`rigwise.ceilings(loader, step)`: three ceilings, the actual rate, the verdict and the levers of any loop."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypedDict, Unpack

import msgspec
import torch
from torch import Tensor, nn

from rigwise.records.ceilings import Bound, Ceiling, CeilingsReport, LeverResult, Part, Rate, WorkerRate
from rigwise.speech import say
from rigwise.train.ceilings.comparing import try_levers
from rigwise.train.ceilings.gap import explained
from rigwise.train.ceilings.judging import bound_of, contradictions, verdict
from rigwise.train.ceilings.launch import LaunchCost, launch_cost
from rigwise.train.ceilings.lever import Lever
from rigwise.train.ceilings.loop import Loop, num_samples, num_workers, placed_on, tensors
from rigwise.train.ceilings.pace import Sampling
from rigwise.train.ceilings.stages import (
    Actual,
    actual_loop,
    cached_batches,
    compute_alone,
    loader_alone,
    transfers_alone,
)
from rigwise.train.ceilings.timeline import Timeline, timeline_of
from rigwise.train.ceilings.untouched import Stateful, untouched
from rigwise.train.ceilings.usual import Seen, runs_under_autocast, usual_levers
from rigwise.train.ceilings.workers import WithWorkers, knee, sweep, ways_to_make
from rigwise.train.machine import usable_cores
from rigwise.train.progress import Progress, Silent

NUM_ATTEMPTS = 2
"""A contradiction is measured once more before it is told: on a shared machine another program may have caused it."""


class Flops(msgspec.Struct, frozen=True, kw_only=True):
    """What MFU is reckoned from. PaLM, arXiv:2204.02311, appendix B."""

    per_sample: float
    """Forward and backward, without recomputation."""
    peak_per_second: float
    """Of the device, dense, at the dtype of the products."""


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """One pass over all stages."""

    ceilings: tuple[Ceiling, ...]
    actual: Actual
    launch: LaunchCost | None
    parts: tuple[Part, ...]
    placed: list[Any]
    """The cached batches, on the device."""


class Options(TypedDict, total=False):
    """What `ceilings` may be told besides loader and step; each by its name."""

    model: nn.Module
    """For the levers that change it, and so that its weights are kept."""
    optimizer: torch.optim.Optimizer
    """The same."""
    device: torch.device | str
    """Where the step runs; by default where the model is, else the GPU, else the CPU."""
    place: Callable[[Any], Any]
    """Brings a batch to the device; by default every tensor in it, without waiting."""
    count: Callable[[Any], int]
    """Samples in a batch; by default the length of its first tensor."""
    also_restore: tuple[Stateful, ...]
    """What else the step changes: a schedule, a scaler."""
    levers: Sequence[Lever]
    """Levers of your own, tried after the usual ones."""
    usual: bool
    """Whether the usual levers are tried; True by default."""
    with_workers: WithWorkers
    """Makes the loader with so many workers, where it is no DataLoader."""
    planned_steps: int
    """Of the run this is for: a lever must earn its set-up back within them."""
    flops: Flops
    """Asks for MFU."""
    sampling: Sampling
    """How long is measured."""
    timeline: Timeline
    """Of a device PyTorch does not know."""
    progress: Progress
    """Told what is under way."""


def ceilings(loader: Iterable[Any], step: Callable[[Any], object], **options: Unpack[Options]) -> CeilingsReport:
    """What bounds `for batch in loader: step(batch)`, in samples per second, and which levers are worth it.

    The loop runs in earnest; afterwards model, optimiser, `also_restore` and random generators are as before.

    Args:
        loader: can be gone through more than once, such as a DataLoader.
        step: one training step on a batch that is on the device.
        options: see `Options`.

    Raises:
        BadInput: the loader is used up after one pass, gives no batch, or its samples cannot be counted.
        TypeError: there is no such option.
    """
    unknown = sorted(options.keys() - Options.__annotations__.keys())
    if unknown:
        raise TypeError(say("ceilings has no option {names}", names=", ".join(unknown)))
    session = _Session(_loop(loader, step, options), options)
    with untouched(session.loop, options.get("also_restore", ())):
        report, measured = session.report(options.get("flops"))
        if report.refused:
            return report
        return session.with_levers(report, measured)


def _loop(loader: Iterable[Any], step: Callable[[Any], object], options: Options) -> Loop:
    model = options.get("model")
    device = torch.device(options["device"]) if "device" in options else _device_of(model)
    return Loop(
        loader=loader,
        step=step,
        place=options.get("place") or placed_on(device),
        count=options.get("count", num_samples),
        device=device,
        model=model,
        optimizer=options.get("optimizer"),
    )


class _Session:
    """One loop, where it runs, and how long it is measured."""

    def __init__(self, loop: Loop, options: Options) -> None:
        self.loop = loop
        self.options = options
        self.timeline = options.get("timeline") or timeline_of(loop.device)
        self.sampling = options.get("sampling", Sampling())
        self.progress = options.get("progress", Silent())

    def report(self, flops: Flops | None) -> tuple[CeilingsReport, Measured]:
        """Ceilings, actual rate and verdict."""
        for attempt in range(NUM_ATTEMPTS):
            cached = cached_batches(self.loop)
            measured = self._stages(cached)
            mfu = flops.per_sample * measured.actual.rate.median / flops.peak_per_second if flops else None
            refused = tuple(
                contradictions(
                    measured.ceilings, measured.actual.rate, measured.parts, measured.actual.wall_seconds, mfu
                )
            )
            if not refused or attempt + 1 == NUM_ATTEMPTS:
                break
        return self._told(measured, cached, mfu, refused), measured

    def _stages(self, cached: list[Any]) -> Measured:
        loop, timeline, sampling = self.loop, self.timeline, self.sampling
        self._begin(say("the loader alone"))
        found = [Ceiling(name="loader", rate=loader_alone(loop, sampling))]
        self._begin(say("the copy to the device alone"))
        found += transfers_alone(loop, timeline, cached, sampling)
        self._begin(say("computing alone"))
        placed = [loop.place(batch) for batch in cached]
        found.append(Ceiling(name="compute", rate=compute_alone(loop, timeline, placed, sampling)))
        launch = launch_cost(loop, timeline, placed)
        self._begin(say("the whole loop"))
        actual = actual_loop(loop, timeline, sampling)
        self.progress.end()
        parts = explained(actual.parts, actual.wall_seconds, launch)
        return Measured(ceilings=tuple(found), actual=actual, launch=launch, parts=parts, placed=placed)

    def _told(
        self, measured: Measured, cached: list[Any], mfu: float | None, refused: tuple[str, ...]
    ) -> CeilingsReport:
        actual, found = measured.actual, measured.ceilings
        bound = Bound.CANNOT_TELL if refused else bound_of(found, measured.launch)
        sentence = "; ".join(refused) if refused else verdict(bound, found, actual.rate, measured.parts)
        return CeilingsReport(
            conditions=tuple(self._conditions(cached[0])),
            ceilings=found,
            actual=actual.rate,
            bound=bound,
            verdict=sentence,
            refused=refused,
            parts=measured.parts,
            wall_seconds=actual.wall_seconds,
            mfu_ratio=None if refused else mfu,
        )

    def _conditions(self, batch: Any) -> Iterable[str]:
        yield say("device {device}", device=self.loop.device)
        yield say("batch {batch}", batch=", ".join(_shape(tensor) for tensor in tensors(batch)) or "-")
        yield say("threads of PyTorch: {count}", count=torch.get_num_threads())
        yield say("workers: {count}", count=num_workers(self.loop.loader))
        yield say("warm-up left out: at least {count} steps", count=self.sampling.warmup_steps)

    def with_levers(self, report: CeilingsReport, measured: Measured) -> CeilingsReport:
        """The report with workers, levers and what was kept; the loop is as before afterwards."""
        workers, usual = self._usual(measured) if self.options.get("usual", True) else ((), [])
        results, final = self._tried([*usual, *self.options.get("levers", ())])
        return msgspec.structs.replace(
            report,
            workers=workers,
            levers=tuple(results),
            final=final,
            recipe=tuple(one.recipe for one in results if one.kept),
        )

    def _usual(self, measured: Measured) -> tuple[tuple[WorkerRate, ...], list[Lever]]:
        """The loader at several numbers of workers, and the levers every loop has."""
        make = self.options.get("with_workers") or ways_to_make(self.loop.loader)
        workers: tuple[WorkerRate, ...] = ()
        if make is not None:
            self._begin(say("the loader with other numbers of workers"))
            workers = sweep(self.loop, make, usable_cores(), self.sampling)
        best = knee(workers, usable_cores()) if workers else None
        seen = Seen(
            shares={part.name: part.share_ratio for part in measured.parts},
            knee=best,
            with_workers=make,
            under_autocast=runs_under_autocast(self.loop, measured.placed[0]),
        )
        return workers, usual_levers(self.loop, seen)

    def _tried(self, levers: Sequence[Lever]) -> tuple[list[LeverResult], Rate | None]:
        """Every lever's result, and the rate of the loop with all that were kept."""
        on: list[Lever] = []
        results: list[LeverResult] = []
        planned_steps = self.options.get("planned_steps")
        self.progress.begin(say("levers, one at a time"), len(levers))
        try:
            for result in try_levers(self.loop, self.timeline, levers, self.sampling, planned_steps, on):
                results.append(result)
                self.progress.advance()
            return results, actual_loop(self.loop, self.timeline, self.sampling).rate if on else None
        finally:
            for lever in reversed(on):
                lever.undo(self.loop)
            self.progress.end()

    def _begin(self, label: str) -> None:
        self.progress.begin(label, None)


def _device_of(model: nn.Module | None) -> torch.device:
    """Where the model is; without one, the GPU where there is one."""
    parameter = next(model.parameters(), None) if model is not None else None
    if parameter is not None:
        return parameter.device
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def _shape(tensor: Tensor) -> str:
    return f"{'x'.join(map(str, tensor.shape))} {str(tensor.dtype).removeprefix('torch.')}"
