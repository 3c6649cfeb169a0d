"""Whether micro-batches give the gradient of the whole batch: measured on the caller's own loss, and where it breaks.

A loss that is a mean over anything but samples (tokens that are not padding, pixels of a class) breaks it, unless the
parts are weighted by what it is a mean over (`count`). A layer that looks at the whole batch breaks it too: BatchNorm
takes mean and variance over what it is given.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import msgspec
import torch
from torch import Tensor, nn

from rigwise.speech import say
from rigwise.train.step.chance import without_chance

TOLERANCE = 1e-5
"""Of the length of the gradient, in fp32: two orders above its rounding (2^-24), and what the report behind case B99
asks for (https://github.com/huggingface/transformers/pull/34191)."""
NUM_SAMPLES = 8
"""Our choice: 8 against 2 x 4; more samples show no more."""

Part = TypeVar("Part", bound=Sequence[Tensor])
Loss = Callable[[nn.Module, Sequence[Tensor]], Tensor]
"""Model and batch to the mean loss over what `Count` counts."""
Count = Callable[[Sequence[Tensor]], int]
"""Batch to the number of terms its mean loss is over: samples, or tokens that have a label."""


def num_samples(batch: Sequence[Tensor]) -> int:
    """The number of samples in a batch."""
    return len(batch[0])


def weighted(parts: Sequence[Part], count: Count) -> list[tuple[Part, float]]:
    """Each part with its share in the mean loss of the whole batch; those in which nothing counts are left out."""
    counts = [count(part) for part in parts]
    total = sum(counts)
    shared = [(part, number / total) for part, number in zip(parts, counts, strict=True) if number]
    return shared or [(parts[0], 1.0)]


class Parity(msgspec.Struct, frozen=True, kw_only=True):
    """How the gradient of micro-batches compares with that of the whole batch."""

    relative_error: float
    """Length of the difference over length of the whole batch's gradient."""
    without_batch_statistics: float
    """The same with layers like BatchNorm in evaluation mode: what the loss and the rest of the model do."""
    batch_statistics: tuple[str, ...] = ()
    """Names of the layers that look at the whole batch."""

    @property
    def equal(self) -> bool:
        """Whether the two gradients are the same but for rounding."""
        return self.relative_error <= TOLERANCE

    @property
    def text(self) -> str:
        """The finding in one sentence."""
        error = f"{self.relative_error:.1g}"
        if self.equal:
            return say("micro-batches give the gradient of the whole batch (relative difference {error})", error=error)
        if self.without_batch_statistics <= TOLERANCE:
            return say(
                "micro-batches give another gradient than the whole batch (relative difference {error}), only because "
                "{count} layers such as {layer} take statistics over the micro-batch",
                error=error,
                count=len(self.batch_statistics),
                layer=self.batch_statistics[0] if self.batch_statistics else "",
            )
        return say(
            "micro-batches give another gradient than the whole batch (relative difference {error}): the loss is no "
            "mean over samples",
            error=error,
        )


def gradient_parity(model: nn.Module, loss: Loss, batch: Sequence[Tensor], count: Count = num_samples) -> Parity:
    """The gradient of up to 8 samples at once against that of two halves, accumulated as a run accumulates them.

    Gradients, buffers and random numbers are as before afterwards. Dropout is off meanwhile: halves draw other numbers.

    Args:
        model: in training mode.
        loss: a mean over the batch it is given.
        batch: tensors with one row for each sample, at least two.
        count: the number of terms of that mean; tokens with a label, for a mean over tokens.
    """
    samples = [tensor[:NUM_SAMPLES] for tensor in batch]
    layers = batch_statistics_layers(model)
    with _as_it_was(model), without_chance(model):
        as_it_is = _relative_error(model, loss, samples, count)
        for layer in layers.values():
            layer.eval()
        rest = _relative_error(model, loss, samples, count) if layers else as_it_is
        for layer in layers.values():
            layer.train()
    return Parity(relative_error=as_it_is, without_batch_statistics=rest, batch_statistics=tuple(layers))


def batch_statistics_layers(model: nn.Module) -> dict[str, nn.Module]:
    """Name to layer, for those that normalise over the samples of the batch now."""
    kinds = (nn.modules.batchnorm._BatchNorm,)
    return {name: layer for name, layer in model.named_modules() if isinstance(layer, kinds) and layer.training}


def _relative_error(model: nn.Module, loss: Loss, samples: Sequence[Tensor], count: Count) -> float:
    whole = _gradient(model, loss, [samples], count)
    half = (len(samples[0]) + 1) // 2
    parts = _gradient(model, loss, list(zip(*(tensor.split(half) for tensor in samples), strict=True)), count)
    return float((whole - parts).norm() / whole.norm().clamp_min(1e-30))


def _gradient(model: nn.Module, loss: Loss, parts: Sequence[Sequence[Tensor]], count: Count) -> Tensor:
    """All gradients as one fp32 vector, each part weighted by its share."""
    model.zero_grad(set_to_none=True)
    for part, share in weighted(parts, count):
        (loss(model, part) * share).backward()
    return torch.cat([each.grad.detach().float().flatten() for each in model.parameters() if each.grad is not None])


@contextmanager
def _as_it_was(model: nn.Module) -> Iterator[None]:
    gradients = [parameter.grad for parameter in model.parameters()]
    buffers = [buffer.clone() for buffer in model.buffers()]
    devices = [torch.cuda.current_device()] if torch.cuda.is_initialized() else []
    try:
        with torch.random.fork_rng(devices=devices):
            yield
    finally:
        for parameter, gradient in zip(model.parameters(), gradients, strict=True):
            parameter.grad = gradient
        with torch.no_grad():
            for buffer, before in zip(model.buffers(), buffers, strict=True):
                buffer.copy_(before)
