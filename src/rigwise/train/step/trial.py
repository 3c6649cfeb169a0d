"""One trial: the training loop, read top to bottom.

Nothing in the step reads a value back from a GPU or asks the driver anything; losses stay on the device until a batch
of them is collected (`Ledger`), durations come from `StepClock`.

Shapes: images `(B, 3, H, W)` uint8, labels `(B,)` int64, logits `(B, C)`.
"""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import msgspec
import torch
from torch import Tensor, nn

from rigwise.speech import say
from rigwise.train.batch.recovery import RecoveringStep
from rigwise.train.step.device import Device, DeviceMemory
from rigwise.train.step.ledger import Ledger, LossIsNotFinite
from rigwise.train.step.normalise import Normalise
from rigwise.train.step.scoring import Scores, score
from rigwise.train.step.step_clock import step_clock

SMALLEST_BATCH = 2
"""BatchNorm has no variance to take over a single picture."""
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
    precision: str
    """That of the last step: what overflows fp16 goes on in another one."""
    notes: tuple[str, ...] = ()
    """What was changed on the way for want of memory or range, in words."""


def run_trial(
    plan: TrialPlan, inputs: TrialInputs, device: Device, ledger: Ledger, advance: Callable[[], None]
) -> TrialOutcome:
    """Train `plan.steps` steps and validate; `inputs.model` ends trained, on `device`.

    Raises:
        torch.OutOfMemoryError: not even the smallest micro-batch fits.
        LossIsNotFinite: the loss became NaN or infinite.
    """
    torch.manual_seed(plan.seed)
    device.reset_peak()
    model = inputs.model.to(device.torch_device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=plan.learning_rate, weight_decay=plan.weight_decay)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: learning_rate_share(step, plan))
    take_step = steps_of(plan, inputs, device, optimizer)
    clock = step_clock(device)
    scores: Scores | None = None

    model.train()
    clock.start()
    asked = time.perf_counter()
    for step, (images, labels) in enumerate(inputs.train_batches(plan.steps), start=1):
        data_seconds = time.perf_counter() - asked
        loss = take_step((images, labels))
        schedule.step()
        clock.end_step()
        ledger.note(loss, data_seconds, clock)
        advance()
        if plan.validates_after(step):
            ledger.collect(clock, wait=True)
            scores = validate(model, inputs, device, take_step.precision)
            ledger.validated(step, scores)
            clock.start()
        asked = time.perf_counter()
    if scores is None:
        raise LossIsNotFinite(say("no step ran"))
    notes = tuple(take_step.notes)
    return TrialOutcome(scores=scores, memory=device.memory(), precision=take_step.precision, notes=notes)


def steps_of(plan: TrialPlan, inputs: TrialInputs, device: Device, optimizer: torch.optim.Optimizer) -> RecoveringStep:
    """Takes one optimiser step per batch; returns the loss, still on the device."""
    return RecoveringStep(
        inputs.model,
        optimizer,
        partial(mean_loss, inputs, device),
        device=device,
        precision=plan.precision,
        smallest=SMALLEST_BATCH,
        watch_loss=plan.precision == "fp16",  # whose loss scale waits for the device in every step anyway
    )


def mean_loss(inputs: TrialInputs, device: Device, model: nn.Module, batch: Sequence[Tensor]) -> Tensor:
    """Mean cross-entropy of a batch that is still on the CPU, still on the device; called inside autocast."""
    images, labels = batch
    logits = model(inputs.normalise(images.to(device.torch_device, non_blocking=True)))
    # The loss in fp32: a sum of exponentials overflows fp16 and loses digits in bf16.
    with torch.autocast(device.torch_device.type, enabled=False):
        return nn.functional.cross_entropy(logits.float(), labels.to(device.torch_device, non_blocking=True))


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
