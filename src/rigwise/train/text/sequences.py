"""How documents become sequences: packed until they are full, one a row and bucketed by length, or cut in pieces.

tokens    `(T,)` int64, what the model reads
labels    `(T,)` int64, the token that follows each; `IGNORED` where nothing is to be learned
segments  `(T,)` int32, the number of the document in its row, from 1; 0 is padding
"""

from functools import cached_property, lru_cache
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from rigwise.train.text.order import BATCHES, DOCUMENTS, ROWS, drawn, shuffled
from rigwise.train.text.tokens import Flags, Ints, TokenTable

IGNORED = -100
"""The label that torch's cross-entropy leaves out."""
BATCHES_PER_BUCKETING = 16
"""Batches whose samples are sorted by length together. Our choice: of 16, the lengths in one batch differ by a
sixteenth of the range, and an epoch of any size keeps its random order beyond them."""


class Sequence(NamedTuple):
    """One row of a batch."""

    tokens: Ints
    labels: Ints
    segments: npt.NDArray[np.int32]


class Arrangement(Protocol):
    """Which sequences make which training batch."""

    @property
    def num_per_epoch(self) -> int:
        """Sequences that hold every document once."""

    def rows(self, step: int) -> list[Sequence]:
        """Those of the batch number `step` (0-based)."""

    def lengths(self, step: int) -> Ints:
        """How many tokens each of them has."""

    def worst(self) -> list[Sequence]:
        """The longest batch there is."""


def labelled(tokens: Ints, learned: Flags, documents: Ints) -> Sequence:
    """A sequence of `T` tokens from `T + 1` neighbours, their flags, and which document each is of."""
    is_target = learned[1:] & (documents[1:] == documents[:-1])
    changes = np.concatenate([[1], documents[1:-1] != documents[:-2]]) if len(tokens) > 1 else np.empty(0)
    return Sequence(tokens[:-1], np.where(is_target, tokens[1:], IGNORED), np.cumsum(changes).astype(np.int32))


class Packed:
    """Documents one after the other, cut every `context` tokens: every sequence is full.

    Each epoch joins the documents in an order of its own and draws the sequences in another; its last sequence goes on
    with the epoch's first document.
    """

    def __init__(self, table: TokenTable, *, context: int, batch_size: int, seed: int) -> None:
        self._table, self._context, self._batch_size, self._seed = table, context, batch_size, seed
        self._lengths = table.document_lengths

    @cached_property
    def num_per_epoch(self) -> int:
        """All tokens in full sequences."""
        return -(-int(self._lengths.sum()) // self._context)

    def rows(self, step: int) -> list[Sequence]:
        """Those of one batch."""
        draws = drawn(ROWS, self._seed, self.num_per_epoch, step * self._batch_size, self._batch_size)
        return [self._row(epoch, row) for epoch, row in draws]

    def lengths(self, step: int) -> Ints:
        """All the same."""
        return np.full(self._batch_size, self._context)

    def worst(self) -> list[Sequence]:
        """Any."""
        return self.rows(0)

    def _row(self, epoch: int, row: int) -> Sequence:
        order, ends = self._joined(epoch)
        place, missing = row * self._context % int(ends[-1]), self._context + 1
        tokens, learned, documents = [], [], []
        index = int(np.searchsorted(ends, place, side="right"))
        inside = place - (int(ends[index - 1]) if index else 0)
        for visit in range(missing):
            document = int(order[(index + visit) % len(order)])
            its_tokens, its_flags = self._table.document(document, inside, missing)
            tokens.append(its_tokens)
            learned.append(its_flags)
            documents.append(np.full(len(tokens[-1]), visit))
            missing, inside = missing - len(tokens[-1]), 0
            if not missing:
                break
        return labelled(np.concatenate(tokens), np.concatenate(learned), np.concatenate(documents))

    @lru_cache(maxsize=2)  # noqa: B019 - as long as the arrangement, which lives as long as its trial
    def _joined(self, epoch: int) -> tuple[Ints, Ints]:
        """The documents of this epoch in order, and where each ends."""
        order = shuffled(DOCUMENTS, self._seed, epoch, len(self._lengths))
        return order, np.cumsum(self._lengths[order])


class Bucketed:
    """One document a sequence, cut off at `context` tokens; documents of like length share a batch.

    The same samples as without: those of `BATCHES_PER_BUCKETING` batches are sorted and dealt out, and the batches are
    drawn in an order of their own.
    """

    def __init__(self, table: TokenTable, *, context: int, batch_size: int, seed: int, sort: bool = True) -> None:
        self._table, self._context, self._batch_size, self._seed = table, context, batch_size, seed
        self._sorted = sort
        self._usable = np.flatnonzero(table.num_before_learned < context)
        if not len(self._usable):
            raise ValueError("no document has anything to learn within the context")
        self._lengths = np.minimum(table.document_lengths - 1, context)

    @property
    def num_per_epoch(self) -> int:
        """Documents with something to learn within the context."""
        return len(self._usable)

    def rows(self, step: int) -> list[Sequence]:
        """Those of one batch."""
        return [self._row(index) for index in self._members(step).tolist()]

    def lengths(self, step: int) -> Ints:
        """Of each document, as far as it is read."""
        return self._lengths[self._members(step)]

    def worst(self) -> list[Sequence]:
        """The longest documents."""
        longest = self._usable[np.argsort(-self._lengths[self._usable], kind="stable")]
        return [self._row(index) for index in np.resize(longest[: self._batch_size], self._batch_size).tolist()]

    def _members(self, step: int) -> Ints:
        together = max(1, min(BATCHES_PER_BUCKETING, self.num_per_epoch // self._batch_size))
        number, place = divmod(step, together)
        size = together * self._batch_size
        members = self._usable[
            [index for _, index in drawn(DOCUMENTS, self._seed, self.num_per_epoch, number * size, size)]
        ]
        if self._sorted:
            members = members[np.argsort(self._lengths[members], kind="stable")]
            place = int(shuffled(BATCHES, self._seed, number, together)[place])
        return members[place * self._batch_size : (place + 1) * self._batch_size]

    def _row(self, index: int) -> Sequence:
        tokens, learned = self._table.document(index, 0, self._context + 1)
        return labelled(tokens, learned, np.zeros(len(tokens), np.int64))


class Piece(NamedTuple):
    """Part of a document that a model is asked for at once."""

    document: int
    start: int
    """Its first token."""


def pieces(table: TokenTable, context: int, most_tokens: int) -> list[Piece]:
    """Every document in pieces of at most `context` tokens; evenly spaced ones where that is over `most_tokens`."""
    every = [
        Piece(document, start)
        for document, length in enumerate(table.document_lengths.tolist())
        for start in range(0, length - 1, context)
    ]
    room = max(1, most_tokens // context)
    if len(every) <= room:
        return every
    return [every[place] for place in np.linspace(0, len(every) - 1, room).round().astype(int)]


def piece_row(table: TokenTable, piece: Piece, context: int) -> Sequence:
    """The sequence of one piece."""
    tokens, learned = table.document(piece.document, piece.start, context + 1)
    return labelled(tokens, learned, np.zeros(len(tokens), np.int64))
