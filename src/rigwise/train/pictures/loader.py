"""Batches of pictures: decoded and augmented in threads, equal for equal seeds whatever the threads do.

Batches are uint8 `(B, 3, S, S)` on the CPU with int64 labels `(B,)`; the caller moves them to its device and
normalises them there. Every random choice comes from (seed, epoch, picture), never from a shared generator.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import count, islice
from math import ceil
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch

from rigwise.errors import BadInput
from rigwise.speech import printable, say
from rigwise.train.pictures.augment import MAX_ASPECT_RATIO, MIN_AREA_RATIO, augmented, centre_box, resample
from rigwise.train.pictures.decode import BadPictureError, Pixels, decode
from rigwise.train.pictures.ordered import in_order, num_cores
from rigwise.train.pictures.picture_set import Picture

Batch = tuple[torch.Tensor, torch.Tensor]
Batches = Generator[Batch, None, None]
Sample = tuple[torch.Tensor, int]
Item = TypeVar("Item")

NUM_BATCHES_AHEAD = 2
"""How many batches are decoded before the first is taken: one in work while the other is used."""

ORDER, AUGMENTATION = 0, 1
"""What a random generator is for; the first part of its seed, so that the two never coincide."""


class PictureStream:
    """The pictures of one split as batches.

    Close the iterators (`contextlib.closing`) to end their threads before they are used up.
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
    ) -> None:
        if not pictures:
            raise ValueError("no pictures to stream")
        self.pictures = pictures
        self.root = root
        self.image_size = image_size
        self.seed = seed
        self.batch_size = batch_size
        self.num_threads = num_cores() if num_threads is None else num_threads
        self.enough_pixels = ceil(image_size**2 * MAX_ASPECT_RATIO / MIN_AREA_RATIO)
        """So that the smallest crop need not be enlarged."""

    def train_batches(self, num_steps: int, start_step: int = 0) -> Batches:
        """`num_steps` full batches of augmented pictures, as an uninterrupted run has them from `start_step` on.

        Epochs follow each other without a gap, so a batch may hold the end of one and the start of the next.
        """
        order = epochs(len(self.pictures), self.seed, start=start_step * self.batch_size)
        drawn = islice(order, num_steps * self.batch_size)
        return self._batches(self._train_sample, drawn, self.batch_size)

    def eval_batches(self, batch_size: int | None = None) -> Batches:
        """Every picture once, in order, its middle square; the last batch may be smaller."""
        return self._batches(self._eval_sample, range(len(self.pictures)), batch_size or self.batch_size)

    def _batches(self, work: Callable[[Item], Sample], items: Iterable[Item], batch_size: int) -> Batches:
        torch.get_num_threads()  # fixes the caller's number before the threads set theirs
        threads = in_order(
            work,
            items,
            num_threads=self.num_threads,
            ahead=max(NUM_BATCHES_AHEAD * batch_size, self.num_threads),
            start_thread=_use_one_torch_thread,
        )
        with closing(threads) as samples:
            while batch := list(islice(samples, batch_size)):
                images, labels = zip(*batch, strict=True)
                yield torch.stack(images), torch.tensor(labels)

    def _train_sample(self, drawn: tuple[int, int]) -> Sample:
        epoch, index = drawn
        rng = np.random.default_rng((AUGMENTATION, self.seed, epoch, index))
        return augmented(self._pixels(index), self.image_size, rng), self.pictures[index].label

    def _eval_sample(self, index: int) -> Sample:
        pixels = self._pixels(index)
        height, width, _ = pixels.shape
        return resample(pixels, centre_box(height, width), self.image_size), self.pictures[index].label

    def _pixels(self, index: int) -> Pixels:
        path = self.pictures[index].path
        try:
            return decode(self.root / path, enough_pixels=self.enough_pixels)
        except BadPictureError as error:
            raise BadInput(
                say("cannot use the picture {path}", path=printable(path)),
                say("{reason}; it was usable when the run began", reason=error),
                say("leave the pictures alone while a run reads them, then start it again"),
            ) from error


def epochs(num_pictures: int, seed: int, start: int = 0) -> Iterator[tuple[int, int]]:
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


def _use_one_torch_thread() -> None:
    """Pictures are resampled in parallel already; torch's own threads double the CPU time and save none."""
    torch.set_num_threads(1)
