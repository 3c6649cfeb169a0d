"""What a trial works with, and everything its next step depends on."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import msgspec
import torch
from torch import Tensor, nn

from rigwise.train.batch.parity import Count, Loss, num_samples
from rigwise.train.batch.recovery import RecoveringStep
from rigwise.train.checkpoint.parts import Stateful
from rigwise.train.knobs.averaging import WeightAverage
from rigwise.train.knobs.model import prepare, to_training
from rigwise.train.knobs.optimizers import optimizer_of
from rigwise.train.step.device import Device, placed
from rigwise.train.step.plan import SMALLEST_BATCH, TrialPlan, learning_rate_share
from rigwise.train.step.scoring import Scored
from rigwise.train.step.step_clock import step_clock

Batch = Sequence[Tensor]
"""Tensors with one row for each sample."""


class TrialInputs(msgspec.Struct, frozen=True, kw_only=True):
    """What a trial works with: the model, and what its batches mean to it."""

    model: nn.Module
    loss: Loss
    """Model and a batch that is still on the CPU to the mean loss, on the device; called inside autocast."""
    count: Count = num_samples
    """Batch, on the CPU, to the number of terms that mean is over."""
    train_batches: Callable[[int, int], Iterable[Batch]]
    """Number of steps and the first of them (0-based) -> that many full batches."""
    validate: Callable[[nn.Module, str], Scored]
    """Model, in evaluation mode and on the device, and precision -> what it says of the validation split."""
    review: Callable[[nn.Module, str], Scored]
    """The same of the split nobody chose by: test, or validation where there is no test split."""
    step: Callable[..., RecoveringStep] = RecoveringStep
    """Makes the step, of what `RecoveringStep` is made of."""


FreshInputs = Callable[[int, Device], TrialInputs]
"""Batch size and device to what a trial works with, its model a fresh one."""


class TrialState:
    """Everything the next step depends on, beside the batches."""

    def __init__(self, plan: TrialPlan, inputs: TrialInputs, device: Device) -> None:
        self.plan = plan
        self.device = device
        self.model = placed(inputs.model, device)
        prepare(self.model, plan.knobs)
        self.optimizer = make_optimizer(self.model, plan)
        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.optimizer, partial(learning_rate_share, plan=plan))
        self.take_step = steps_of(plan, inputs, device, self.optimizer)
        self.clock = step_clock(device)
        """Times the steps; whoever pauses the trial starts it again."""
        self.also: dict[str, Stateful] = {}
        """What else the next steps depend on, by name: put here by a watcher before the first step."""
        self.average = WeightAverage(self.model, plan.knobs.ema_decay) if plan.knobs.ema_decay else None
        """Of the weights, where the recipe asks for it; then it is what is validated and kept."""
        self.step = 0
        """Optimiser steps taken."""
        self.scores: Scored | None = None
        """Of the last validation."""
        self.ended = False
        """Whether a watcher ended the trial before its last step."""
        self.remarks: list[str] = []
        """What ended the trial early, or else is worth knowing, in words."""

    @property
    def parts(self) -> dict[str, Stateful]:
        """Everything a checkpoint keeps of it, by name."""
        own: dict[str, Stateful] = {
            "model": self.model,
            "optimizer": self.optimizer,
            "schedule": self.schedule,
            "take_step": self.take_step,
        }
        averaged: dict[str, Stateful] = {"average": self.average} if self.average is not None else {}
        return own | averaged | self.also

    def stepped(self) -> None:
        """An optimiser step was taken: schedule and average follow."""
        self.schedule.step()
        if self.average is not None:
            self.average.update_parameters(self.model)
        self.step += 1


def begin_trial(plan: TrialPlan, inputs: TrialInputs, device: Device) -> TrialState:
    """The state before the first step, decided by the plan's seed."""
    torch.manual_seed(plan.seed)
    device.reset_peak()
    return TrialState(plan, inputs, device)


def make_optimizer(model: nn.Module, plan: TrialPlan) -> torch.optim.Optimizer:
    """The optimiser a plan asks for."""
    return optimizer_of(model, plan.knobs, learning_rate=plan.learning_rate, weight_decay=plan.weight_decay)


def steps_of(plan: TrialPlan, inputs: TrialInputs, device: Device, optimizer: torch.optim.Optimizer) -> RecoveringStep:
    """Takes one optimiser step per batch; returns the loss, still on the device."""
    knobs = plan.knobs
    take_step = inputs.step(
        inputs.model,
        optimizer,
        inputs.loss,
        count=inputs.count,
        device=device,
        precision=plan.precision,
        # Updated in backward, a batch that ran out of memory half-way cannot be taken again.
        smallest=plan.batch_size if knobs.optimizer_in_backward else SMALLEST_BATCH,
        watch_loss=plan.precision == "fp16",  # whose loss scale waits for the device in every step anyway
    )
    take_step.clip_norm = knobs.clip_norm or None
    if knobs.accumulation_steps > 1:
        part = max(SMALLEST_BATCH, -(-plan.batch_size // knobs.accumulation_steps))
        take_step.micro_batch_size = min(part, take_step.micro_batch_size or part)
    return take_step


def validated(state: TrialState, inputs: TrialInputs) -> Scored:
    """Scores of the weights that are kept on the validation split; the model is in training mode before and after."""
    model = state.average.module if state.average is not None else state.model
    scores = inputs.validate(model.eval(), state.take_step.precision)
    to_training(state.model, state.plan.knobs)
    return scores
