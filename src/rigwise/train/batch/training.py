"""What a probe runs: the caller's own training at one batch size, made afresh in each child process."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import msgspec
import torch
from torch import Tensor, nn

from rigwise.train.batch.update import updated

Batch = Any
"""Whatever the caller's loss takes."""


class Training(Protocol):
    """One training at one batch size. Its attributes `model` and `optimizer`, if any, let the bytes be broken down."""

    def train_step(self, step: int) -> object:
        """One optimiser step. Step 0 must be given the worst real batch: the largest pictures, the longest texts."""

    def validate(self) -> object:
        """One full validation, at the size validation really uses."""

    def save(self, path: Path) -> object:
        """Write a checkpoint as the run does."""

    def load(self, path: Path) -> object:
        """Read that checkpoint as a resumed run does."""


class TorchTraining(msgspec.Struct, kw_only=True):
    """A `Training` made of the parts a PyTorch loop has."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    loss: Callable[[nn.Module, Batch], Tensor]
    """Model and batch to a scalar; moves the batch to the device, and enters autocast where it is used."""
    train_batch: Callable[[int], Batch]
    """Step number to a full batch; of step 0 the worst one (`worst_first`)."""
    val_batches: Callable[[], Iterable[Batch]] = tuple
    scaler: torch.amp.GradScaler | None = None

    def train_step(self, step: int) -> None:
        """Forward, backward, update."""
        loss = self.loss(self.model, self.train_batch(step))
        self.optimizer.zero_grad(set_to_none=True)
        if self.scaler is None:
            loss.backward()
            updated(self.optimizer, self.optimizer.step)
            return
        self.scaler.scale(loss).backward()
        updated(self.optimizer, partial(self.scaler.step, self.optimizer))
        self.scaler.update()

    @torch.no_grad()
    def validate(self) -> None:
        """The loss of every validation batch."""
        self.model.eval()
        for batch in self.val_batches():
            self.loss(self.model, batch)
        self.model.train()

    def save(self, path: Path) -> None:
        """Model and optimiser into one file."""
        torch.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}, path)

    def load(self, path: Path) -> None:
        """What `save` wrote, read onto the CPU and copied from there."""
        content = torch.load(path, map_location="cpu", weights_only=True)
        self.model.load_state_dict(content["model"])
        self.optimizer.load_state_dict(content["optimizer"])


def worst_first(sizes: Sequence[float], batch_size: int) -> list[int]:
    """The order of samples in which the largest make the first batch and the others follow as they come.

    Args:
        sizes: of each sample: pixels of a picture, length of a text, number of boxes.
        batch_size: how many are the worst batch.

    >>> worst_first([3, 9, 1, 7, 5], batch_size=2)
    [1, 3, 0, 2, 4]
    """
    worst = sorted(range(len(sizes)), key=lambda index: -sizes[index])[:batch_size]
    chosen = set(worst)
    return worst + [index for index in range(len(sizes)) if index not in chosen]
