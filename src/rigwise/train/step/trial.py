"""One trial: the training loop, read top to bottom.

Nothing in the step reads a value back from a GPU or asks the driver anything; losses stay on the device until a batch
of them is collected (`Ledger`), durations come from `StepClock`.

Shapes: images `(B, 3, H, W)` uint8, labels `(B,)` int64, logits `(B, C)`.
"""

import math
import time
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import torch
from torch import Tensor, nn

from rigwise.speech import say
from rigwise.train.step.device import Device, DeviceMemory, autocast
from rigwise.train.step.ledger import Ledger, LossIsNotFinite
from rigwise.train.step.normalise import Normalise
from rigwise.train.step.scoring import Scores, score
from rigwise.train.step.step_clock import step_clock

NUM_VALIDATIONS = 4
"""Accuracy is measured this many times per trial, evenly spaced, the last one at the end."""


class TrialPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What one trial does; everything here comes from the recipe."""

    name: str
    precision: str
    """`fp32`, `bf16` or `fp16`."""
    batch_size: int
    image_size: int
    steps: int
    learning_rate: float
    weight_decay: float
    warmup_steps: int
    seed: int

    def validates_after(self, step: int) -> bool:
        """Whether validation follows step number `step` (1-based)."""
        marks = {math.ceil(self.steps * part / NUM_VALIDATIONS) for part in range(1, NUM_VALIDATIONS + 1)}
        return step in marks


class TrialInputs(msgspec.Struct, frozen=True, kw_only=True):
    """What a trial works with."""

    model: nn.Module
    normalise: Normalise
    train_batches: Callable[[int], Iterable[tuple[Tensor, Tensor]]]
    """Number of steps -> that many full batches."""
    val_batches: Callable[[], Iterable[tuple[Tensor, Tensor]]]


class TrialOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a trial that ran to the end."""

    scores: Scores
    """On the validation split, after the last step."""
    memory: DeviceMemory | None
    """With the peaks of the whole trial, validation included."""


def run_trial(
    plan: TrialPlan, inputs: TrialInputs, device: Device, ledger: Ledger, advance: Callable[[], None]
) -> TrialOutcome:
    """Train `plan.steps` steps and validate; `inputs.model` ends trained, on `device`.

    Raises:
        torch.OutOfMemoryError: the batch does not fit.
        LossIsNotFinite: the loss became NaN or infinite.
    """
    torch.manual_seed(plan.seed)
    device.reset_peak()
    model = inputs.model.to(device.torch_device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=plan.learning_rate, weight_decay=plan.weight_decay)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: learning_rate_share(step, plan))
    scaler = torch.amp.GradScaler(device.torch_device.type, enabled=plan.precision == "fp16")
    clock = step_clock(device)
    scores: Scores | None = None

    model.train()
    clock.start()
    asked = time.perf_counter()
    for step, (images, labels) in enumerate(inputs.train_batches(plan.steps), start=1):
        data_seconds = time.perf_counter() - asked
        loss = _step(plan, model, inputs.normalise, images, labels, device, optimizer, scaler)
        schedule.step()
        clock.end_step()
        ledger.note(loss, data_seconds, clock)
        advance()
        if plan.validates_after(step):
            ledger.collect(clock, wait=True)
            scores = validate(model, inputs, device, plan.precision)
            ledger.validated(step, scores)
            clock.start()
        asked = time.perf_counter()
    if scores is None:
        raise LossIsNotFinite(say("no step ran"))
    return TrialOutcome(scores=scores, memory=device.memory())


def _step(
    plan: TrialPlan,
    model: nn.Module,
    normalise: Normalise,
    images: Tensor,
    labels: Tensor,
    device: Device,
    optimizer: torch.optim.Optimizer,
    scaler: Any,
) -> Tensor:
    """One optimiser step; returns the loss, still on the device."""
    images = normalise(images.to(device.torch_device, non_blocking=True))
    labels = labels.to(device.torch_device, non_blocking=True)
    with autocast(device, plan.precision):
        logits = model(images)
    # The loss in fp32: a sum of exponentials overflows fp16 and loses digits in bf16.
    loss = nn.functional.cross_entropy(logits.float(), labels)
    optimizer.zero_grad(set_to_none=True)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.detach()


def learning_rate_share(step: int, plan: TrialPlan) -> float:
    """Share of the peak learning rate at `step` (0-based): linear rise, then half a cosine to zero.

    Loshchilov and Hutter, SGDR, arXiv:1608.03983, equation 5, one cycle.
    """
    warmup = min(plan.warmup_steps, plan.steps // 2)
    if step < warmup:
        return (step + 1) / warmup
    progress = (step - warmup) / max(1, plan.steps - warmup)
    return 0.5 * (1 + math.cos(math.pi * progress))


def validate(model: nn.Module, inputs: TrialInputs, device: Device, precision: str) -> Scores:
    """Scores on the validation split; the model is in training mode before and after."""
    model.eval()
    scores = score(model, inputs.normalise, inputs.val_batches(), device, precision)
    model.train()
    return scores
