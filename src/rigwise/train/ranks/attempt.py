"""A full trial by several ranks, seen from the leader: jobs are started until one holds, what they tell is recorded.

After out of memory nothing goes on in the processes it happened in: some ranks have taken the step, others wait in it.
All of them start again, at a micro-batch that the fullest rank can hold; the batch stays what it is, by accumulation.
"""

import os
import time
from collections.abc import Callable
from typing import Any

import msgspec
import torch

from rigwise.records.run import Step, Validation
from rigwise.speech import say
from rigwise.telemetry.writer import RunWriter
from rigwise.train.batch.others import Holders, gpu_holders
from rigwise.train.progress import Progress
from rigwise.train.ranks.failure import Cause, RankEnded
from rigwise.train.ranks.job import run_ranks
from rigwise.train.ranks.ready import held_before
from rigwise.train.ranks.setup import RanksSetup
from rigwise.train.ranks.trial import Left, Material, RankTrial
from rigwise.train.recipe_sections import Recipe
from rigwise.train.step.ledger import LossIsNotFinite
from rigwise.train.step.plan import SMALLEST_BATCH, TrialPlan


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """What a trial by several ranks needs of the run it belongs to."""

    setup: RanksSetup
    material: Material
    recipe: Recipe
    writer: RunWriter
    progress: Progress
    holders: Holders = gpu_holders
    """Who holds the memory of a GPU, by its UUID."""
    gave_up: Callable[[TrialPlan, str], object]
    """Told each plan that ran out of memory and was started again under another name, and why."""

    def run(self, plan: TrialPlan) -> tuple[TrialPlan, Left, list[Step]]:
        """The plan that ran to the end, what it left, and its steps.

        Raises:
            RankEnded: a rank ended before its work was done, other than for want of memory.
            torch.OutOfMemoryError: not even micro-batches of two samples fit in every rank.
            LossIsNotFinite: the loss became NaN or infinite.
        """
        micro_batch_size: int | None = None
        notes: list[str] = []
        named = plan
        while True:
            for sentence in held_before(self.setup.uuids, self.holders, own=[os.getpid()]):
                self.progress.tell(sentence)
                self.writer.event("vram held", sentence)
            steps: list[Step] = []
            try:
                left = self._job(named, micro_batch_size, self._recording(steps))
            except RankEnded as ended:
                micro_batch_size = _smaller(ended)
                notes.append(self._note(ended, named, micro_batch_size))
                name = say("{name} micro-batch {micro}", name=plan.name, micro=micro_batch_size)
                named = msgspec.structs.replace(plan, name=name)
                continue
            outcome = msgspec.structs.replace(left.outcome, notes=(*notes, *left.outcome.notes))
            return named, msgspec.structs.replace(left, outcome=outcome), steps

    def _job(self, plan: TrialPlan, micro_batch_size: int | None, told: Callable[[Any], None]) -> Left:
        setup = self.setup
        work = RankTrial(
            plan=plan,
            material=self.material,
            micro_batch_size=micro_batch_size,
            began=time.monotonic() - self.writer.elapsed(),
            num_threads=max(1, self.recipe.cpu.num_threads // setup.num_ranks),
            deterministic=setup.backend == "gloo",
            make_device=setup.make_device,
        )
        left: Left = run_ranks(work, setup.num_ranks, backend=setup.backend, told=told)
        return left

    def _recording(self, steps: list[Step]) -> Callable[[Any], None]:
        """Records what rank 0 tells, as it comes."""

        def told(message: Any) -> None:
            if isinstance(message, Step | Validation):
                self.writer.record(message)
            if isinstance(message, Step):
                steps.append(message)
                self.progress.advance()

        return told

    def _note(self, ended: RankEnded, plan: TrialPlan, micro_batch_size: int) -> str:
        note = say(
            "{what}; all ranks started again with micro-batches of {micro}, the batch stays {batch}",
            what=ended.what,
            micro=micro_batch_size,
            batch=plan.batch_size,
        )
        self.gave_up(plan, note)
        self.progress.tell(f"{plan.name}: {note}")
        self.writer.event("out of memory", f"{plan.name}: {note}")
        return note


def _smaller(ended: RankEnded) -> int:
    """The micro-batch to start again with.

    Raises:
        RankEnded: memory was not what the rank wanted for.
        torch.OutOfMemoryError: a smaller one is none.
        LossIsNotFinite: the loss was not.
    """
    cause: Cause | None = ended.cause
    if cause is None or cause.kind not in ("out_of_memory", "stopped"):
        raise ended
    if cause.kind == "stopped":
        raise LossIsNotFinite(cause.error) from ended
    if cause.micro_batch_size // 2 < SMALLEST_BATCH:
        raise torch.OutOfMemoryError(cause.error) from ended
    return cause.micro_batch_size // 2
