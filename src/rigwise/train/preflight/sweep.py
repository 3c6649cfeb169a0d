"""Rates of several ways to do the same work, measured in turns, and the least costly of the fast ones.

For the number of workers or threads, or a decoder on the CPU against one on the GPU: which is faster is not known
before it is measured. Only ways that deliver the same number of pictures are comparable; others are refused.
"""

import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing, nullcontext
from itertools import islice
from statistics import median
from typing import Any

import msgspec

WITHIN_RATIO = 0.05
"""Rates closer than this count as equal. Our choice: the spread of repeats on an idle machine."""

Way = Callable[[], Iterable[Any]]
"""Starts the work anew; what it yields are (images, labels)."""


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """How fast one way is."""

    per_second: float
    """Pictures, the median of the rounds."""
    lowest: float
    highest: float


def measure_rates(
    ways: Mapping[str, Way], num_batches: int, *, rounds: int = 3, clock: Callable[[], float] = time.perf_counter
) -> dict[str, Rate]:
    """The rate of every way over `num_batches` batches, in interleaved rounds so that noise hits all alike.

    Raises:
        ValueError: the ways deliver different numbers of pictures, so that their rates mean different things.
    """
    seen: dict[str, list[tuple[int, float]]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            seen[name].append(_timed(way, num_batches, clock))
    counts = {name: {count for count, _ in timed} for name, timed in seen.items()}
    if len(set.union(*counts.values())) > 1:
        raise ValueError(f"not the same work: pictures delivered {counts}")
    rates = {name: [count / seconds for count, seconds in timed] for name, timed in seen.items()}
    return {
        name: Rate(per_second=median(found), lowest=min(found), highest=max(found)) for name, found in rates.items()
    }


def least_of_the_fastest(order: Sequence[str], rates: Mapping[str, Rate]) -> str:
    """The first way of `order`, from least to most costly, that is as fast as the fastest within the noise.

    >>> rates = {name: Rate(per_second=r, lowest=r, highest=r) for name, r in (("1", 90), ("4", 300), ("16", 310))}
    >>> least_of_the_fastest(["1", "4", "16"], rates)
    '4'
    """
    best = max(rates.values(), key=lambda rate: rate.per_second)
    enough = min(best.lowest, best.per_second * (1 - WITHIN_RATIO))
    return next(name for name in order if rates[name].per_second >= enough)


def _timed(way: Way, num_batches: int, clock: Callable[[], float]) -> tuple[int, float]:
    """Pictures delivered and seconds, after a first batch that starts the workers."""
    batches = iter(way())
    with closing(batches) if isinstance(batches, Generator) else nullcontext():
        next(batches)
        begun = clock()
        count = sum(len(batch[1]) for batch in islice(batches, num_batches))
        return count, clock() - begun
