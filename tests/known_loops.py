"""Loops whose ceilings are known, because they sleep: loaders, steps, and a device that works on its own."""

import time
from collections.abc import Callable, Iterator
from typing import Self

import torch
from torch import Tensor

from rigwise.train.ceilings.pace import Sampling

BATCH = 8
QUICK = Sampling(seconds=0.15, lever_seconds=0.3, num_blocks=9, warmup_steps=2)


class SleepyLoader:
    """Batches that take a known time each; in the loop's own thread, or two at a time by at most `helping` threads."""

    def __init__(self, seconds: float, *, batches: int = 1000, num_threads: int = 0, helping: int = 1) -> None:
        self.seconds = seconds
        self.batches = batches
        self.num_threads = num_threads
        self.helping = helping

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        for _ in range(self.batches):
            time.sleep(self.seconds / max(1, min(self.num_threads, self.helping)))
            yield torch.zeros(BATCH, 3), torch.zeros(BATCH, dtype=torch.int64)


class SleepyStep:
    """A step that takes a known time."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __call__(self, batch: object) -> None:
        time.sleep(self.seconds)


class PassedAt(float):
    """When the device passed a point."""

    def seconds_since(self, earlier: Self) -> float:
        return self - earlier


class AsyncDevice:
    """A timeline whose calls return at once; the work is done one after the other, later.

    When it passes a point is known as soon as the point is submitted, so it needs no thread of its own.
    """

    is_async = True

    def __init__(self) -> None:
        self._free_at = 0.0
        self._busy = 0.0

    def submit(self, seconds: float) -> None:
        """Work that takes this long, once everything before it is done."""
        self._free_at = max(time.perf_counter(), self._free_at) + seconds
        self._busy += seconds

    def mark(self) -> PassedAt:
        return PassedAt(max(time.perf_counter(), self._free_at))

    def synchronize(self) -> None:
        time.sleep(max(0.0, self._free_at - time.perf_counter()))

    def busy_seconds(self, work: Callable[[], object]) -> float | None:
        before = self._busy
        work()
        self.synchronize()
        return self._busy - before
