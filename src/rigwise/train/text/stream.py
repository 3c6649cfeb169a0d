"""Batches of sequences: tokens, labels and segments, each `(B, T)`, on the CPU.

Every order comes from seed and epoch, so the batches from step n on are the same whether or not the steps before it
ran. Sequences are slices of a mapped file: they are made in the trial's own thread, in microseconds.
"""

from collections.abc import Iterator, Sequence
from itertools import count, islice
from typing import Any, NamedTuple

import msgspec
import numpy as np
import torch
from torch import Tensor

from rigwise.train.text.sequences import IGNORED, Arrangement, Bucketed, Packed, Piece, piece_row, pieces
from rigwise.train.text.sequences import Sequence as Row
from rigwise.train.text.tokens import TokenTable

TextBatch = tuple[Tensor, Tensor, Tensor]
"""Tokens, labels and segments."""


class Padding(msgspec.Struct, frozen=True, kw_only=True):
    """Share of padding among the tokens of an epoch's batches, 0 to 1."""

    as_drawn_ratio: float
    """With the same samples in the order they are drawn."""
    ratio: float
    """As they are batched."""


class EvalBatch(NamedTuple):
    """A batch of pieces, and where each comes from."""

    batch: TextBatch
    pieces: tuple[Piece, ...]


class TextStream:
    """The documents of one split as batches.

    Args:
        table: their tokens.
        context: `T`, the most tokens of a sequence.
        seed: of all orders.
        batch_size: sequences of a batch.
        packed: whether documents are joined until sequences are full; else each is a sequence, like lengths together.
        pinned: batches in page-locked memory, which a GPU copies from while the CPU goes on.
    """

    def __init__(
        self, table: TokenTable, *, context: int, seed: int, batch_size: int, packed: bool, pinned: bool = False
    ) -> None:
        self.table = table
        self.context = context
        self.seed = seed
        self.batch_size = batch_size
        self.packed = packed
        self._pinned = pinned

    @property
    def arrangement(self) -> Arrangement:
        """Which sequences make which batch."""
        kind = Packed if self.packed else Bucketed
        return kind(self.table, context=self.context, batch_size=self.batch_size, seed=self.seed)

    def train_batches(self, num_steps: int, start_step: int = 0) -> Iterator[TextBatch]:
        """`num_steps` full batches, as an uninterrupted run has them from `start_step` on."""
        arrangement = self.arrangement
        for step in islice(count(start_step), num_steps):
            yield self._batch(arrangement.rows(step))

    def worst_batch(self) -> TextBatch:
        """The batch that takes the most memory."""
        return self._batch(self.arrangement.worst())

    def eval_batches(self, most_tokens: int) -> Iterator[EvalBatch]:
        """Every document by itself in pieces, the longest first; evenly spaced ones if that is over `most_tokens`."""
        chosen = pieces(self.table, self.context, most_tokens)
        rows = [piece_row(self.table, piece, self.context) for piece in chosen]
        order = sorted(range(len(rows)), key=lambda place: -len(rows[place].tokens))
        for start in range(0, len(order), self.batch_size):
            members = order[start : start + self.batch_size]
            yield EvalBatch(self._batch([rows[place] for place in members]), tuple(chosen[place] for place in members))

    def num_tokens(self, num_steps: int) -> int:
        """Tokens, padding not counted, of the first `num_steps` batches."""
        arrangement = self.arrangement
        return sum(int(arrangement.lengths(step).sum()) for step in range(num_steps))

    def num_epochs(self, num_steps: int) -> float:
        """How often `num_steps` batches go through every document."""
        return num_steps * self.batch_size / self.arrangement.num_per_epoch

    def padding(self) -> Padding:
        """Measured over the batches of one epoch; none where documents are packed."""
        if self.packed:
            return Padding(as_drawn_ratio=0.0, ratio=0.0)
        options: dict[str, Any] = {"context": self.context, "batch_size": self.batch_size, "seed": self.seed}
        drawn = Bucketed(self.table, sort=False, **options)
        return Padding(
            as_drawn_ratio=_padding_ratio(drawn, self.batch_size),
            ratio=_padding_ratio(self.arrangement, self.batch_size),
        )

    def _batch(self, rows: Sequence[Row]) -> TextBatch:
        longest = max(len(row.tokens) for row in rows)
        tokens = np.zeros((len(rows), longest), np.int64)
        labels = np.full((len(rows), longest), IGNORED, np.int64)
        segments = np.zeros((len(rows), longest), np.int32)
        for place, row in enumerate(rows):
            reach = len(row.tokens)
            tokens[place, :reach], labels[place, :reach], segments[place, :reach] = row
        made = tuple(map(torch.from_numpy, (tokens, labels, segments)))
        first, second, third = (tensor.pin_memory() for tensor in made) if self._pinned else made
        return first, second, third


def num_labels(batch: Sequence[Tensor]) -> int:
    """Tokens of a batch that have a label: what its mean loss is over."""
    return int((batch[1] != IGNORED).sum())


def _padding_ratio(arrangement: Arrangement, batch_size: int) -> float:
    lengths = [arrangement.lengths(step) for step in range(max(1, arrangement.num_per_epoch // batch_size))]
    filled = sum(int(each.sum()) for each in lengths)
    return 1 - filled / sum(int(each.max()) * len(each) for each in lengths)
