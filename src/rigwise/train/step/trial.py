"""One trial: the training loop, read top to bottom.

Nothing in the step reads a value back from a GPU or asks the driver anything; losses stay on the device until a batch
of them is collected (`Ledger`), durations come from `StepClock`.
"""

import time
from collections.abc import Sequence
from typing import Protocol

import msgspec

from rigwise.speech import say
from rigwise.train.step.device import Device, DeviceMemory
from rigwise.train.step.ledger import Ledger, LossIsNotFinite
from rigwise.train.step.plan import TrialPlan
from rigwise.train.step.scoring import Scored
from rigwise.train.step.state import TrialInputs, TrialState, begin_trial, validated


class TrialOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a trial that ran to the end."""

    scores: Scored
    """On the validation split, after the last step."""
    memory: DeviceMemory | None
    """With the peaks of the whole trial, validation included."""
    precision: str
    """That of the last step: what overflows fp16 goes on in another one."""
    notes: tuple[str, ...] = ()
    """What was changed on the way for want of memory or range, in words."""
    remarks: tuple[str, ...] = ()
    """What else is worth knowing of it, in words."""


class Watcher(Protocol):
    """Told how a trial goes on: progress, checkpoints, a rule that ends it early."""

    def began(self, state: TrialState) -> None:
        """Before the first step; may put the state of an earlier process back, `state.step` included."""

    def stepped(self, state: TrialState) -> None:
        """After each optimiser step, and after the validation and the decision that may follow it.

        One that takes time starts `state.clock` again, so that its time counts for no step.
        """

    def goes_on(self, state: TrialState) -> bool:
        """After each validation, whose result is `state.scores`: whether the trial takes more steps."""


def run_trial(
    plan: TrialPlan, inputs: TrialInputs, device: Device, ledger: Ledger, watchers: Sequence[Watcher] = ()
) -> TrialOutcome:
    """Train up to `plan.steps` steps and validate; `inputs.model` ends with what was validated last, on `device`.

    Raises:
        torch.OutOfMemoryError: not even the smallest micro-batch fits.
        LossIsNotFinite: the loss became NaN or infinite.
    """
    state = begin_trial(plan, inputs, device)
    for watcher in watchers:
        watcher.began(state)
    validation_steps = plan.validation_steps
    clock = state.clock
    clock.start()
    asked = time.perf_counter()
    for batch in inputs.train_batches(0 if state.ended else plan.steps - state.step, state.step):
        data_seconds = time.perf_counter() - asked
        loss = state.take_step(batch)
        state.stepped()
        clock.end_step()
        ledger.note(loss, data_seconds, clock)
        validates = state.step in validation_steps
        if validates:
            ledger.collect(clock, wait=True)
            state.scores = validated(state, inputs)
            ledger.validated(state.step, state.scores)
            state.ended = not all([watcher.goes_on(state) for watcher in watchers])  # a list: each of them is told
        for watcher in watchers:
            watcher.stepped(state)
        if state.ended:
            break
        if validates:
            clock.start()
        asked = time.perf_counter()
    if state.scores is None and state.step:  # what went on from a checkpoint after its last step
        state.scores = validated(state, inputs)
    return _outcome(state)


def _outcome(state: TrialState) -> TrialOutcome:
    if state.scores is None:
        raise LossIsNotFinite(say("no step ran"))
    if state.average is not None:
        state.model.load_state_dict(state.average.module.state_dict())
        state.remarks.append(
            say("validated and kept: averaged weights, decay {decay}", decay=state.plan.knobs.ema_decay)
        )
    return TrialOutcome(
        scores=state.scores,
        memory=state.device.memory(),
        precision=state.take_step.precision,
        notes=tuple(state.take_step.notes),
        remarks=tuple(state.remarks),
    )
