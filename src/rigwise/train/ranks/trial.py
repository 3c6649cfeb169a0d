"""One full trial as every rank of a job does it: its material goes there, what came of it comes back from rank 0."""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Protocol

import msgspec
import torch
from torch import Tensor, nn

from rigwise.records.run import RankFigures
from rigwise.speech import say
from rigwise.train.batch.recognise import out_of_memory
from rigwise.train.batch.update import UpdateDoesNotFit
from rigwise.train.knobs.early_stop import early_stop
from rigwise.train.ranks.batch_norm import over_all_ranks
from rigwise.train.ranks.failure import Failed, Known, failure_of
from rigwise.train.ranks.rank import Rank
from rigwise.train.ranks.rows import Rows
from rigwise.train.ranks.step import RankStep
from rigwise.train.step.device import CpuDevice, CudaDevice, Device, DeviceMemory
from rigwise.train.step.ledger import Ledger, LossIsNotFinite
from rigwise.train.step.plan import TrialPlan
from rigwise.train.step.scoring import Scored
from rigwise.train.step.state import Batch, TrialInputs, TrialState
from rigwise.train.step.trial import TrialOutcome, Watcher, run_trial

ALONE_STEPS = 5
"""Our choice: steps each rank takes without waiting for the others, to see which of them is slower."""


class Material(Protocol):
    """What a trial is made of; it is sent to the ranks by pickle."""

    def inputs_of(self, rows: Rows, batch_size: int, device: Device) -> TrialInputs:
        """What a rank works with: its rows of each batch of `batch_size`, and its share of the splits to score."""

    def joined(self, shares: Sequence[Scored]) -> Scored:
        """The scores of a whole split, from those of the ranks' shares in their order."""


class Left(msgspec.Struct, frozen=True, kw_only=True):
    """What a trial leaves."""

    outcome: TrialOutcome
    review: Scored
    weights: dict[str, Tensor]
    """State dict, on the CPU."""
    figures: tuple[RankFigures, ...] = ()
    """Of each rank, where there are several."""


MakeDevice = Callable[[Rank], Device]


def device_of(rank: Rank) -> Device:
    """The GPU of this rank, or the CPU."""
    return CudaDevice(rank.number) if rank.backend == "nccl" else CpuDevice()


class RankTrial(msgspec.Struct, frozen=True, kw_only=True):
    """One trial, for every rank of a job."""

    plan: TrialPlan
    material: Material
    micro_batch_size: int | None
    """Most samples of a rank at once; None for all of its rows."""
    began: float
    """time.monotonic() when the run began."""
    num_threads: int
    """Torch's, for each rank."""
    deterministic: bool
    make_device: MakeDevice = device_of

    def __call__(self, rank: Rank) -> Left | None:
        """Train and score; rank 0 returns what the trial leaves."""
        torch.set_num_threads(self.num_threads)
        torch.use_deterministic_algorithms(self.deterministic)
        device = self.make_device(rank)
        try:
            with device.using():
                return self._train(rank, device)
        except (LossIsNotFinite, UpdateDoesNotFit) as error:
            raise Known(msgspec.structs.replace(self._failed(error, rank, "stopped"), text=str(error))) from error
        except (RuntimeError, MemoryError) as error:
            if out_of_memory(error) is None:
                raise
            raise Known(self._failed(error, rank, "out_of_memory")) from error

    def _failed(self, error: Exception, rank: Rank, kind: Any) -> Failed:
        failed = failure_of(error, rank.number, time.monotonic(), kind)
        return msgspec.structs.replace(failed, micro_batch_size=self.micro_batch_size or self._rows(rank))

    def _rows(self, rank: Rank) -> int:
        return rank.rows.count(self.plan.batch_size)

    def _train(self, rank: Rank, device: Device) -> Left | None:
        inputs = self._inputs(rank, device)
        tell = rank.tell if rank.number == 0 else _nobody
        ledger = Ledger(self.plan.name, lambda: time.monotonic() - self.began, tell, tell)
        watcher = Together(rank, early_stop(self.plan.knobs))
        outcome = run_trial(self.plan, inputs, device, ledger, [watcher])
        review = inputs.review(inputs.model.eval(), outcome.precision)
        weights = {name: value.detach().cpu().clone() for name, value in inputs.model.state_dict().items()}
        alone_seconds = watcher.alone_seconds(inputs, device)
        own = _figures(self.plan.name, rank, device, ledger, self._rows(rank), alone_seconds)
        figures = rank.gathered(own)
        memories = rank.gathered(outcome.memory)
        if rank.number:
            return None
        outcome = msgspec.structs.replace(outcome, memory=_fullest(memories))
        return Left(outcome=outcome, review=review, weights=weights, figures=tuple(figures))

    def _inputs(self, rank: Rank, device: Device) -> TrialInputs:
        """This rank's inputs, with scores joined over all ranks and steps taken together."""
        own = self.material.inputs_of(rank.rows, self.plan.batch_size, device)
        model = over_all_ranks(own.model, rank.backend)

        def together(score: Callable[[nn.Module, str], Scored], model: nn.Module, precision: str) -> Scored:
            rank.guard.mark(say("scoring"))
            share = score(model, precision)
            rank.guard.mark(say("waiting for the scores of the others"))
            return self.material.joined(rank.gathered(share))

        def marked(num_steps: int, first: int) -> Iterator[Batch]:
            rank.guard.mark(say("loading the batch of step {step}", step=first + 1))
            for step, batch in enumerate(own.train_batches(num_steps, first), start=first + 1):
                rank.guard.mark(say("step {step}", step=step))
                yield batch
                rank.guard.mark(say("loading the batch of step {step}", step=step + 1))

        step = partial(RankStep, rank=rank, batch_size=self.plan.batch_size, micro_batch_size=self.micro_batch_size)
        return msgspec.structs.replace(
            own,
            model=model,
            train_batches=marked,
            validate=partial(together, own.validate),
            review=partial(together, own.review),
            step=step,
        )


class Together:
    """Lets a trial go on only where it goes on in every rank; a trial's watcher."""

    def __init__(self, rank: Rank, watchers: Sequence[Watcher] = ()) -> None:
        self._rank = rank
        self._watchers = watchers
        self._state: TrialState | None = None

    def began(self, state: TrialState) -> None:
        """Each watcher is told."""
        self._state = state
        for watcher in self._watchers:
            watcher.began(state)

    def stepped(self, state: TrialState) -> None:
        """Each watcher is told."""
        for watcher in self._watchers:
            watcher.stepped(state)

    def goes_on(self, state: TrialState) -> bool:
        """Whether every watcher of every rank goes on."""
        return self._rank.everywhere(all([watcher.goes_on(state) for watcher in self._watchers]))

    def alone_seconds(self, inputs: TrialInputs, device: Device) -> float:
        """What this rank takes for a step when it waits for nobody; the model is of no further use."""
        assert isinstance(self._state, TrialState)
        step = self._state.take_step
        assert isinstance(step, RankStep)
        batches = inputs.train_batches(ALONE_STEPS, self._state.step)
        return step.alone_seconds(batches, device)


def _figures(trial: str, rank: Rank, device: Device, ledger: Ledger, rows: int, alone_seconds: float) -> RankFigures:
    memory = device.memory()
    data_seconds = [step.data_seconds for step in ledger.steps]
    return RankFigures(
        trial=trial,
        rank=rank.number,
        device=device.name,
        rows=rows,
        alone_seconds=alone_seconds,
        data_seconds=sum(data_seconds) / len(data_seconds),
        peak_reserved_bytes=memory.peak_reserved if memory else None,
        memory_total_bytes=memory.total if memory else None,
    )


def _fullest(memories: Sequence[DeviceMemory | None]) -> DeviceMemory | None:
    """Of the rank that came nearest to its limit."""
    known = [memory for memory in memories if memory is not None]
    return max(known, key=lambda memory: memory.peak_reserved / memory.total, default=None)


def _nobody(message: object) -> None:
    """What ranks other than the first record is recorded by the first."""
