"""Small trials whose parts can be sent to a child process, for the tests of knobs."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from rigwise.train.knobs.section import KnobsSection
from rigwise.train.step.device import CpuDevice, Device
from rigwise.train.step.normalise import Normalise
from rigwise.train.step.picture_loss import mean_loss
from rigwise.train.step.plan import TrialPlan
from rigwise.train.step.scoring import Scored
from rigwise.train.step.state import Batch, TrialInputs, TrialState, begin_trial


def plan(precision: str = "fp32", batch_size: int = 8, **knobs: Any) -> TrialPlan:
    return TrialPlan(
        name="trial",
        precision=precision,
        batch_size=batch_size,
        image_size=16,
        steps=8,
        learning_rate=1e-2,
        weight_decay=0.01,
        warmup_steps=0,
        seed=0,
        knobs=KnobsSection(**knobs),
    )


def small_network(dropout: float = 0.0) -> nn.Module:
    torch.manual_seed(3)
    body = nn.ModuleList(
        nn.Sequential(nn.Conv2d(width, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Dropout(dropout))
        for width in (3, 8)
    )
    return nn.Sequential(nn.Sequential(*body), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 3))


def batches(count: int, batch_size: int = 8, image_size: int = 16) -> list[Batch]:
    chance = torch.Generator().manual_seed(5)
    shape = (batch_size, 3, image_size, image_size)
    return [
        (
            torch.randint(0, 256, shape, dtype=torch.uint8, generator=chance),
            torch.randint(0, 3, (batch_size,), generator=chance),
        )
        for _ in range(count)
    ]


def inputs(model: nn.Module, loss: Any = None, batch_size: int = 8, image_size: int = 16) -> TrialInputs:
    def train_batches(steps: int, first: int) -> Iterable[Batch]:
        return batches(steps, batch_size, image_size)

    return TrialInputs(
        model=model,
        loss=loss or partial(mean_loss, Normalise([0.5] * 3, [0.5] * 3), CpuDevice()),
        train_batches=train_batches,
        validate=_nothing,
        review=_nothing,
    )


def _nothing(model: nn.Module, precision: str) -> Scored:
    raise AssertionError("not validated here")


def begun(model: nn.Module, plan: TrialPlan, loss: Any = None) -> TrialState:
    return begin_trial(plan, inputs(model, loss), CpuDevice())


def trained(state: TrialState, steps: int = 4) -> list[float]:
    losses = []
    for batch in batches(steps):
        losses.append(state.take_step(batch).item())
        state.stepped()
    return losses


def fresh_small_inputs(batch_size: int, device: Device) -> TrialInputs:
    return inputs(small_network(), batch_size=batch_size)


def reading_loss(model: nn.Module, batch: Sequence[Tensor]) -> Tensor:
    answers = model(batch[0].float())
    return answers[: int(batch[1].max()) + 1].square().mean()


def fresh_inputs_that_read_values(batch_size: int, device: Device) -> TrialInputs:
    return inputs(small_network(), reading_loss, batch_size)
