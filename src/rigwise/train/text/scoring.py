"""What a language model says of texts: the loss of its batches, and of a whole split piece by piece.

Shapes: tokens, labels and segments `(B, T)`, logits `(B, T, V)`.
"""

import math
from collections.abc import Iterable, Sequence

import msgspec
import torch
from torch import Tensor, nn

from rigwise.train.step.device import Device, autocast
from rigwise.train.text.sequences import IGNORED, Piece
from rigwise.train.text.stream import EvalBatch


def logits_of(model: nn.Module, batch: Sequence[Tensor], *, apart: bool) -> Tensor:
    """Logits `(B, T, V)` of a batch on the model's device; `apart` keeps the documents of a row apart."""
    tokens, _, segments = batch
    logits: Tensor = model(tokens, segments) if apart else model(tokens)
    return logits


def mean_token_loss(logits: Tensor, labels: Tensor, label_smoothing: float = 0.0) -> Tensor:
    """Mean cross-entropy of the tokens that have a label, nats; 0 where none has. In fp32, outside of autocast."""
    with torch.autocast(logits.device.type, enabled=False):
        total = nn.functional.cross_entropy(
            logits.float().flatten(0, 1),
            labels.flatten(),
            ignore_index=IGNORED,
            reduction="sum",
            label_smoothing=label_smoothing,
        )
    return total / (labels != IGNORED).sum().clamp_min(1)


class TokenLoss(msgspec.Struct, frozen=True, kw_only=True):
    """Model and a batch that is still on the CPU to its mean loss, still on the device; called inside autocast."""

    device: Device
    apart: bool
    """Whether documents of a row must not see each other."""
    label_smoothing: float = 0.0

    def __call__(self, model: nn.Module, batch: Sequence[Tensor]) -> Tensor:
        """The mean over all tokens with a label."""
        on_device = [tensor.to(self.device.torch_device, non_blocking=True) for tensor in batch]
        return mean_token_loss(logits_of(model, on_device, apart=self.apart), on_device[1], self.label_smoothing)


class Surprise(msgspec.Struct, frozen=True):
    """The token of a piece that the model expected least."""

    place: int
    """Its number in the document."""
    truth: int
    predicted: int
    truth_probability: float


class TextScores(msgspec.Struct, frozen=True, kw_only=True):
    """One split scored; N pieces of documents. Tensors are on the CPU."""

    pieces: tuple[Piece, ...]
    losses: Tensor
    """`(N,)` fp64, cross-entropy summed over the tokens of each piece, nats"""
    counts: Tensor
    """`(N,)` int64, tokens asked for"""
    correct: Tensor
    """`(N,)` int64, of which foretold"""
    surprises: tuple[Surprise, ...]

    @property
    def mean_loss(self) -> float:
        """Mean cross-entropy of a token, nats."""
        return float(self.losses.sum() / self.counts.sum().clamp_min(1))

    @property
    def num_correct(self) -> int:
        """How many tokens were the model's likeliest."""
        return int(self.correct.sum())

    @property
    def num_answers(self) -> int:
        """How many tokens were asked for."""
        return int(self.counts.sum())

    @property
    def standard_error(self) -> float | None:
        """Of the mean loss, nats; pieces are the independent draws, since tokens of one piece are not.

        W. G. Cochran, "Sampling Techniques", third edition (1977), equation 6.13: the error of a ratio of sums.
        None for a single piece.
        """
        num_pieces = len(self.counts)
        if num_pieces < 2:
            return None
        residuals = self.losses - self.mean_loss * self.counts
        variance = float((residuals**2).sum()) * num_pieces / (num_pieces - 1)
        return math.sqrt(variance) / max(1, self.num_answers)


@torch.no_grad()
def score_texts(model: nn.Module, batches: Iterable[EvalBatch], device: Device, precision: str) -> TextScores:
    """Scores of every piece in `batches`; the model must be in evaluation mode."""
    pieces: list[Piece] = []
    columns: list[list[Tensor]] = [[], [], []]
    surprises: list[Surprise] = []
    for batch, members in batches:
        on_device = [tensor.to(device.torch_device) for tensor in batch]
        with autocast(device, precision):
            logits = logits_of(model, on_device, apart=False)
        losses, counts, correct, found = _judged(logits, on_device[1])
        for column, values in zip(columns, (losses.double(), counts, correct), strict=True):
            column.append(values.cpu())
        surprises += [_surprise(values, piece) for values, piece in zip(found.tolist(), members, strict=True)]
        pieces += members
    losses, counts, correct = map(torch.cat, columns)
    return TextScores(pieces=tuple(pieces), losses=losses, counts=counts, correct=correct, surprises=tuple(surprises))


def _judged(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Of each row: loss, tokens asked for, tokens foretold, and `(B, 4)` of its worst token."""
    asked = labels != IGNORED
    each = nn.functional.cross_entropy(logits.float().transpose(1, 2), labels, ignore_index=IGNORED, reduction="none")
    predicted = logits.argmax(dim=-1)
    worst = each.argmax(dim=1, keepdim=True)
    columns = (worst, labels.gather(1, worst), predicted.gather(1, worst), each.gather(1, worst))
    found = torch.cat([column.double() for column in columns], dim=1)
    return each.sum(dim=1), asked.sum(dim=1), (asked & (predicted == labels)).sum(dim=1), found


def _surprise(values: list[float], piece: Piece) -> Surprise:
    place, truth, predicted, loss = values
    return Surprise(piece.start + int(place) + 1, int(truth), int(predicted), math.exp(-loss))


@torch.no_grad()
def continued(model: nn.Module, tokens: list[int], count: int, context: int, device: Device) -> list[int]:
    """`count` tokens after these, always the likeliest; the model must be in evaluation mode and on the device."""
    known = list(tokens)
    for _ in range(count):
        window = torch.tensor([known[-context:]], device=device.torch_device)
        known.append(int(model(window)[0, -1].argmax()))
    return known[len(tokens) :]
