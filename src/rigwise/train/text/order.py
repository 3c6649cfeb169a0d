"""In which order documents and sequences are drawn: decided by seed and epoch alone, so that any step can be found."""

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

DOCUMENTS, ROWS, BATCHES = 0, 1, 2
"""What an order is of; the first part of its seed, so that no two coincide."""


@lru_cache(maxsize=8)
def shuffled(purpose: int, seed: int, epoch: int, count: int) -> Ints:
    """The numbers below `count` in the order of this epoch; not to be written to."""
    order: Ints = np.random.default_rng((purpose, seed, epoch)).permutation(count)
    order.flags.writeable = False
    return order


def drawn(purpose: int, seed: int, count: int, start: int, number: int) -> list[tuple[int, int]]:
    """Draws `start` to `start + number` of an endless series of epochs, as (epoch, index below `count`).

    >>> drawn(DOCUMENTS, 0, 3, 2, 3)
    [(0, 1), (1, 1), (1, 2)]
    """
    places: list[Any] = [divmod(draw, count) for draw in range(start, start + number)]
    return [(epoch, int(shuffled(purpose, seed, epoch, count)[place])) for epoch, place in places]
