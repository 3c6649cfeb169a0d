"""What a model says of a whole split: probabilities, losses, and the counts drawn from them."""

from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec
import torch
from torch import Tensor, nn

from rigwise.train.step.device import Device, autocast
from rigwise.train.step.normalise import Normalise


class Scored(Protocol):
    """What a model says of a whole split, counted."""

    @property
    def mean_loss(self) -> float:
        """Nats."""

    @property
    def num_correct(self) -> int:
        """How many answers are right."""

    @property
    def num_answers(self) -> int:
        """Of how many: pictures, or tokens."""


class Scores(msgspec.Struct, frozen=True, kw_only=True):
    """One split scored. Tensors are on the CPU; N pictures, C classes."""

    labels: Tensor
    """`(N,)` int64"""
    probabilities: Tensor
    """`(N, C)` fp32"""
    losses: Tensor
    """`(N,)` fp32 cross-entropy, nats"""

    @property
    def predictions(self) -> Tensor:
        """`(N,)` int64: the most probable class of each picture."""
        return self.probabilities.argmax(dim=1)

    @property
    def truth_probabilities(self) -> Tensor:
        """`(N,)` fp32: what each picture's own label was given."""
        return self.probabilities.gather(1, self.labels[:, None])[:, 0]

    @property
    def num_correct(self) -> int:
        """How many predictions equal the label."""
        return int((self.predictions == self.labels).sum())

    @property
    def num_answers(self) -> int:
        """How many pictures were scored."""
        return len(self.labels)

    @property
    def mean_loss(self) -> float:
        """Mean cross-entropy, nats."""
        return float(self.losses.mean())

    def confusion(self, num_classes: int) -> tuple[tuple[int, ...], ...]:
        """Counts, truth by row and prediction by column."""
        flat = torch.bincount(self.labels * num_classes + self.predictions, minlength=num_classes**2)
        return tuple(tuple(row) for row in flat.view(num_classes, num_classes).tolist())


def joined(shares: Sequence[Scores]) -> Scores:
    """The scores of consecutive shares of a split, as one."""
    return Scores(
        labels=torch.cat([share.labels for share in shares]),
        probabilities=torch.cat([share.probabilities for share in shares]),
        losses=torch.cat([share.losses for share in shares]),
    )


def no_scores(num_classes: int) -> Scores:
    """Those of a share without a picture."""
    return Scores(
        labels=torch.empty(0, dtype=torch.int64), probabilities=torch.empty(0, num_classes), losses=torch.empty(0)
    )


@torch.no_grad()
def score(
    model: nn.Module, normalise: Normalise, batches: Iterable[tuple[Tensor, Tensor]], device: Device, precision: str
) -> Scores:
    """Scores of every picture in `batches`, in their order; the model must be in evaluation mode."""
    labels, logits = [], []
    for images, truth in batches:
        with autocast(device, precision):
            on_device = model(normalise(images.to(device.torch_device)))
        logits.append(on_device.float().cpu())
        labels.append(truth)
    all_logits, all_labels = torch.cat(logits), torch.cat(labels)
    return Scores(
        labels=all_labels,
        probabilities=all_logits.softmax(dim=1),
        losses=nn.functional.cross_entropy(all_logits, all_labels, reduction="none"),
    )
