"""Checkpoints of one trial: saved as it goes, put back before its first step, none of it in a step's time."""

import math
from collections.abc import Mapping

import msgspec
import torch

from rigwise.errors import CannotTell, CannotWrite
from rigwise.records.run import Step, TrialCheckpoints
from rigwise.speech import say
from rigwise.train.checkpoint.checkpoint import Checkpoint
from rigwise.train.checkpoint.checkpoints import Checkpoints
from rigwise.train.checkpoint.run_checkpoints import RunCheckpoints
from rigwise.train.step.device import autocast
from rigwise.train.step.ledger import Ledger
from rigwise.train.step.plan import TrialPlan
from rigwise.train.step.state import TrialInputs, TrialState

REPLAYED_SAMPLES = 8
"""Our choice: enough for a mean loss that other weights do not have, and less memory than any training step."""


class Checkpointing:
    """A trial's last watcher: what the others keep is saved with the rest."""

    def __init__(
        self,
        run: RunCheckpoints,
        plan: TrialPlan,
        inputs: TrialInputs,
        ledger: Ledger,
        fingerprint: Mapping[str, str],
    ) -> None:
        self._run = run
        self._trial = plan.name
        self._inputs = inputs
        self._ledger = ledger
        self._checkpoints = run.of(plan.name, fingerprint)
        self._cost: TrialCheckpoints
        self._told_failure = False
        self._wanted = False

    def began(self, state: TrialState) -> None:
        """Put back what an earlier process saved; the steps it recorded afterwards are taken back.

        Raises:
            BadInput: it was saved of another recipe, model or data.
            CannotTell: nothing that was saved can be used, or the loss is not what it was.
        """
        self._cost = self._run.cost(self._trial, state.device.torch_device.type)
        [first] = self._inputs.train_batches(1, 0)
        self._batch = [tensor[:REPLAYED_SAMPLES].clone() for tensor in first]  # a view would keep all of them
        found = self._checkpoints.restore(replay=lambda: self._replay(state), **state.parts)
        if found is None and self._cost.num_saved:
            raise _missing(self._checkpoints, self._cost.last_step)
        if found is not None:
            state.step, state.ended = found.step, found.values["ended"]
            self._ledger.steps[:] = self._recorded(found)
        self._run.writer.forget_steps(self._trial, after=state.step)
        if not state.ended and state.step < state.plan.steps:
            self._run.note_resumed(self._trial, found)

    def stepped(self, state: TrialState) -> None:
        """Save when it is time."""
        if self._wanted or self._checkpoints.due(state.step):
            self._wanted = False
            self._save(state)
            state.clock.start()

    def goes_on(self, state: TrialState) -> bool:
        """Always; a validation is a good moment to save."""
        self._wanted = self._run.section.at_validation
        return True

    def _save(self, state: TrialState) -> None:
        """A checkpoint, and before it on the disk everything recorded up to here; on failure training goes on."""
        self._ledger.collect(state.clock, wait=True)
        self._run.writer.settle()
        state.optimizer.zero_grad(set_to_none=True)  # the next step does so too: saving takes no memory beside them
        before_seconds = self._checkpoints.seconds
        micro = state.take_step.micro_batch_size or state.plan.batch_size
        failed = 0
        try:
            self._checkpoints.save(
                step=state.step,
                batch_size=micro,
                accumulation=math.ceil(state.plan.batch_size / micro),
                samples_seen=state.step * state.plan.batch_size,
                values={"ended": state.ended},
                replay=lambda: self._replay(state),
                **state.parts,
            )
        except CannotWrite as error:
            failed = 1
            self._note_failure(error)
        self._note_cost(state.step, self._checkpoints.seconds - before_seconds, failed)

    def _note_failure(self, error: CannotWrite) -> None:
        sentence = say("{trial}: {what}: {why}; training goes on", trial=self._trial, what=error.what, why=error.why)
        self._run.writer.event("checkpoint not written", sentence)
        if not self._told_failure:  # once: the next one fails for the same reason
            self._run.progress.tell(sentence)
        self._told_failure = True

    def _note_cost(self, step: int, seconds: float, failed: int) -> None:
        cost = self._cost
        self._cost = msgspec.structs.replace(
            cost,
            num_saved=cost.num_saved + 1 - failed,
            num_failed=cost.num_failed + failed,
            last_step=cost.last_step if failed else step,
            size_bytes=self._checkpoints.size_bytes or cost.size_bytes,
            seconds=cost.seconds + seconds,
        )
        self._run.note(self._cost)

    def _recorded(self, found: Checkpoint) -> list[Step]:
        steps = list(self._run.steps(self._trial, until=found.step))
        if len(steps) != found.step:
            raise CannotTell(
                say("{trial} cannot go on after step {step}", trial=self._trial, step=found.step),
                say("run.sqlite holds {count} of those steps", count=len(steps)),
                say("repeat the run: rigwise train --from {run}", run=self._run.folder.parent),
            )
        return steps

    @torch.no_grad()
    def _replay(self, state: TrialState) -> float:
        """Loss of the first training samples in evaluation mode, where it depends on the state alone."""
        state.model.eval()
        try:
            with autocast(state.device, state.take_step.precision):
                return float(self._inputs.loss(state.model, self._batch))
        finally:
            state.model.train()


def _missing(checkpoints: Checkpoints, last_step: int) -> CannotTell:
    return CannotTell(
        say("the checkpoint of step {step} is gone", step=last_step),
        say("it was saved in {folder}, where there is none now", folder=checkpoints.folder),
        say("put it back, or repeat the run: rigwise train --from {run}", run=checkpoints.folder.parent.parent),
    )
