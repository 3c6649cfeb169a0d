"""`rigwise.find_lr(loader, step, ...)`: a learning rate for any loop, from a sweep that leaves no trace.

Smith, Cyclical Learning Rates for Training Neural Networks, WACV 2017 (arXiv:1506.01186), section 3.3: the rate rises
from step to step, and the loss shows from where on it helps and from where on it harms.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from typing import Any

import torch
from torch import Tensor, nn

from rigwise.errors import BadInput
from rigwise.records.learning_rate import LearningRateSearch, RatePoint
from rigwise.speech import say
from rigwise.train.ceilings.loop import Feed, Loop, num_samples, placed_on
from rigwise.train.ceilings.untouched import Stateful, untouched
from rigwise.train.knobs.curve import longest_fall, looked_at, smoothed, steepest_fall, why_nothing
from rigwise.train.step.ledger import LossIsNotFinite

SMALLEST, LARGEST = 1e-7, 10.0
"""fastai's range."""
NUM_STEPS = 100
"""fastai's and Lightning's number."""
DIVERGED = 4.0
"""Times the lowest smoothed loss at which both end the sweep."""


def find_lr(
    loader: Iterable[Any],
    step: Callable[[Any], Tensor | float],
    *,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    also_restore: tuple[Stateful, ...] = (),
    place: Callable[[Any], Any] | None = None,
    smallest: float = SMALLEST,
    largest: float = LARGEST,
    num_steps: int = NUM_STEPS,
) -> LearningRateSearch:
    """The learning rate in the middle of the longest fall of the loss, with the whole curve.

    The steps are taken in earnest; afterwards weights, buffers, gradients, optimiser, `also_restore`, random generators
    and the loader are as before, so that a training that follows is bit-equal to one that never searched.

    Args:
        loader: can be gone through more than once, such as a DataLoader; real batches.
        step: one training step on a batch that is on the device, to its loss. A schedule must not be in it.
        model: what is trained.
        optimizer: whose rate is swept; between its groups the proportions stay.
        also_restore: what else the step changes: a scaler, a second model, an average.
        place: brings a batch to the device; by default every tensor in it to where the model is.
        smallest: the first rate.
        largest: the last one.
        num_steps: rates tried, evenly spaced in their logarithm.

    Raises:
        BadInput: the range makes no sense, the loader gives no batch, or the step no loss.
    """
    _must_rise(smallest, largest, num_steps)
    loop = _loop(loader, step, model, optimizer)
    loop.place = place or loop.place
    with untouched(loop, (*also_restore, *_with_state(loader))), closing(Feed(loader)) as feed:
        return searched(_losses(feed, loop, optimizer, _rising(smallest, largest, num_steps)), largest)


def _loop(
    loader: Iterable[Any], step: Callable[[Any], object], model: nn.Module, optimizer: torch.optim.Optimizer
) -> Loop:
    """The loop where its model is."""
    device = next((parameter.device for parameter in model.parameters()), torch.device("cpu"))
    place = placed_on(device)
    return Loop(
        loader=loader, step=step, place=place, count=num_samples, device=device, model=model, optimizer=optimizer
    )


def searched(losses: Iterable[tuple[float, float]], largest: float) -> LearningRateSearch:
    """What a sweep suggests; it is ended where it diverges.

    Args:
        losses: rate and loss of each step, the rates rising.
        largest: the last rate that would be tried.
    """
    tried: list[tuple[float, float]] = []
    ended = say("the loss did not diverge up to {largest}", largest=f"{largest:g}")
    for rate, loss in losses:
        if not math.isfinite(loss):
            ended = say("the loss was not finite at {rate}", rate=f"{rate:.2g}")
            break
        tried.append((rate, loss))
        means = smoothed([loss for _, loss in tried])
        if means[-1] > DIVERGED * min(means) > 0:
            ended = say("the loss diverged at {rate}", rate=f"{rate:.2g}")
            break
    means = smoothed([loss for _, loss in tried])
    points = tuple(
        RatePoint(learning_rate=rate, loss=loss, smoothed_loss=mean)
        for (rate, loss), mean in zip(tried, means, strict=True)
    )
    why_not = why_nothing(points)
    part = looked_at(points)
    return LearningRateSearch(
        points=points,
        suggestion=None if why_not else longest_fall(part),
        steepest=None if why_not else steepest_fall(part),
        ended=ended,
        why_not=why_not,
    )


def _with_state(loader: Any) -> tuple[Stateful, ...]:
    """The loader, where it can be put back to where it was."""
    return (loader,) if hasattr(loader, "state_dict") and hasattr(loader, "load_state_dict") else ()


def _rising(smallest: float, largest: float, num_steps: int) -> list[float]:
    return [smallest * (largest / smallest) ** (number / (num_steps - 1)) for number in range(num_steps)]


def _losses(
    feed: Feed, loop: Loop, optimizer: torch.optim.Optimizer, rates: list[float]
) -> Iterator[tuple[float, float]]:
    """Rate and loss of one step after the other."""
    shares = group_shares(optimizer)
    for rate in rates:
        set_rate(optimizer, rate, shares)
        try:
            loss = loop.step(loop.place(next(feed)))
        except LossIsNotFinite:
            yield rate, math.nan
            return
        yield rate, _number(loss)


def group_shares(optimizer: torch.optim.Optimizer) -> list[float]:
    """The rate of each group as a share of the highest one."""
    rates = [float(group["lr"]) for group in optimizer.param_groups]
    return [rate / max(rates) for rate in rates] if max(rates) > 0 else [1.0] * len(rates)


def set_rate(optimizer: torch.optim.Optimizer, rate: float, shares: list[float]) -> None:
    """Set the highest rate, and the others in proportion."""
    for group, share in zip(optimizer.param_groups, shares, strict=True):
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(rate * share)
        else:
            group["lr"] = rate * share


def _number(loss: object) -> float:
    if isinstance(loss, Tensor) and loss.numel() == 1:
        return float(loss.detach())
    if isinstance(loss, int | float):
        return float(loss)
    raise BadInput(
        say("the step gives no loss"),
        say("it returned {kind}", kind=type(loss).__name__),
        say("let it return the loss: a number, or a tensor of one"),
    )


def _must_rise(smallest: float, largest: float, num_steps: int) -> None:
    if not 0 < smallest < largest < math.inf or num_steps < 2:
        raise BadInput(
            say("no learning rates to try"),
            say("from {smallest} to {largest} in {steps} steps", smallest=smallest, largest=largest, steps=num_steps),
            say("give 0 < smallest < largest, and at least two steps"),
        )
