"""Batches of pictures: decoded and augmented in threads, equal for equal seeds whatever the threads do.

Batches are uint8 `(B, 3, S, S)` on the CPU with int64 labels `(B,)`; the caller moves them to its device and
normalises them there. Every random choice comes from (seed, epoch, picture), never from a shared generator, so the
batches from step n on are the same whether or not the steps before it ran, with a cache or without.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import chain, count, islice
from math import ceil
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import torch

from rigwise.train.machine import usable_cores
from rigwise.train.pictures.augment import MAX_ASPECT_RATIO, MIN_AREA_RATIO, augmented, centre_view
from rigwise.train.pictures.decode import Pixels
from rigwise.train.pictures.ordered import in_order
from rigwise.train.pictures.picture_bytes import decoded
from rigwise.train.pictures.picture_set import Picture

Batch = tuple[torch.Tensor, torch.Tensor]
Batches = Generator[Batch, None, None]
Drawn = tuple[int, int]
"""Epoch and index of a picture; epoch `NO_EPOCH` means as validation sees it."""
Item = TypeVar("Item")
PixelsOf = Callable[[Picture], Pixels]

NUM_BATCHES_AHEAD = 2
"""How many batches are decoded before the first is taken: one in work while the other is used."""

ORDER, AUGMENTATION = 0, 1
"""What a random generator is for; the first part of its seed, so that the two never coincide."""

NO_EPOCH = -1
ALL = slice(None)


class Piece(NamedTuple):
    """Consecutive pictures of one batch: what a thread works on at a time."""

    batch: Batch
    start: int
    drawn: Sequence[Drawn]

    @property
    def ends_batch(self) -> bool:
        """Whether the batch is whole when this piece and those before it are."""
        return self.start + len(self.drawn) == len(self.batch[1])


class PictureStream:
    """The pictures of one split as batches.

    Close the iterators (`contextlib.closing`) to end their threads before they are used up.

    Args:
        pictures: of the split.
        root: DATA, which their paths are relative to.
        image_size: `S`, in pixels.
        seed: of order and augmentation.
        batch_size: pictures of a batch.
        num_threads: 0 works in the caller's thread; None means one for each core.
        pixels_of: where pixels come from, other than the picture files: a cache.
        pinned: batches in page-locked memory, which a GPU copies from while the CPU goes on.
    """

    def __init__(
        self,
        pictures: Sequence[Picture],
        root: Path,
        *,
        image_size: int,
        seed: int,
        batch_size: int,
        num_threads: int | None = None,
        pixels_of: PixelsOf | None = None,
        pinned: bool = False,
    ) -> None:
        if not pictures:
            raise ValueError("no pictures to stream")
        self.pictures = pictures
        self.root = root
        self.image_size = image_size
        self.seed = seed
        self.batch_size = batch_size
        self.num_threads = usable_cores() if num_threads is None else num_threads
        self.pixels_of = pixels_of or self._decoded
        self.pinned = pinned

    def train_batches(self, num_steps: int, start_step: int = 0, rows: slice = ALL) -> Batches:
        """`num_steps` full batches of augmented pictures, as an uninterrupted run has them from `start_step` on.

        Epochs follow each other without a gap, so a batch may hold the end of one and the start of the next. Of each
        batch only `rows` are decoded and given.
        """
        order = epochs(len(self.pictures), self.seed, start=start_step * self.batch_size)
        whole = chunks(islice(order, num_steps * self.batch_size), self.batch_size)
        drawn = chain.from_iterable(batch[rows] for batch in whole)
        return self._batches(drawn, len(range(self.batch_size)[rows]))

    def eval_batches(self, batch_size: int | None = None) -> Batches:
        """Every picture once, in order, its middle square; the last batch may be smaller."""
        drawn = ((NO_EPOCH, index) for index in range(len(self.pictures)))
        return self._batches(drawn, batch_size or self.batch_size)

    def _batches(self, drawn: Iterable[Drawn], batch_size: int) -> Batches:
        torch.get_num_threads()  # fixes the caller's number before the threads set theirs
        size = ceil(batch_size / max(1, self.num_threads))
        threads = in_order(
            self._fill,
            self._pieces(drawn, batch_size, size),
            num_threads=self.num_threads,
            ahead=max(NUM_BATCHES_AHEAD * ceil(batch_size / size), self.num_threads),
            start_thread=use_one_torch_thread,
        )
        with closing(threads) as pieces:
            yield from (piece.batch for piece in pieces if piece.ends_batch)

    def _pieces(self, drawn: Iterable[Drawn], batch_size: int, piece_size: int) -> Iterator[Piece]:
        """The batches to come, each cut into pieces of `piece_size` pictures."""
        for members in chunks(drawn, batch_size):
            batch = self._empty_batch(members)
            for start in range(0, len(members), piece_size):
                yield Piece(batch, start, members[start : start + piece_size])

    def _empty_batch(self, members: Sequence[Drawn]) -> Batch:
        """A batch whose pictures are yet to be filled in, also by threads that know nothing of the caller's mode."""
        with torch.inference_mode(False):
            shape = (len(members), 3, self.image_size, self.image_size)
            images = torch.empty(shape, dtype=torch.uint8, pin_memory=self.pinned)
            return images, torch.tensor([self.pictures[index].label for _, index in members])

    def _fill(self, piece: Piece) -> Piece:
        """The piece, its pictures put where they belong in the batch."""
        images, _ = piece.batch
        for place, drawn in enumerate(piece.drawn, start=piece.start):
            images[place] = self._view(*drawn)
        return piece

    def _view(self, epoch: int, index: int) -> torch.Tensor:
        """A picture as the network sees it, uint8 `(3, S, S)`."""
        pixels = self.pixels_of(self.pictures[index])
        if epoch == NO_EPOCH:
            return centre_view(pixels, self.image_size)
        return augmented(pixels, self.image_size, np.random.default_rng((AUGMENTATION, self.seed, epoch, index)))

    def _decoded(self, picture: Picture) -> Pixels:
        return decoded(self.root, picture, enough_pixels(self.image_size))


def enough_pixels(image_size: int) -> int:
    """How many pixels of a picture are decoded at least, so that its smallest crop need not be enlarged."""
    return ceil(image_size**2 * MAX_ASPECT_RATIO / MIN_AREA_RATIO)


def epochs(num_pictures: int, seed: int, start: int = 0) -> Iterator[Drawn]:
    """Endless (epoch, picture) draws, each epoch all pictures in its own order, from draw number `start` on.

    >>> [picture for epoch, picture in islice(epochs(3, seed=1), 6)]
    [2, 0, 1, 0, 1, 2]
    """
    first_epoch, skipped = divmod(start, num_pictures)
    for epoch in count(first_epoch):
        order = np.random.default_rng((ORDER, seed, epoch)).permutation(num_pictures)
        for index in order[skipped:]:
            yield epoch, int(index)
        skipped = 0


def chunks(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Consecutive items, `size` at a time; the last may be fewer.

    >>> list(chunks("abcde", 2))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    remaining = iter(items)
    while chunk := list(islice(remaining, size)):
        yield chunk


def use_one_torch_thread() -> None:
    """Pictures are resampled in parallel already; torch's own threads double the CPU time and save none."""
    torch.set_num_threads(1)
