"""Several ranks that must use one batch size: the smallest that any of them found, agreed within a time limit."""

import time
from datetime import timedelta
from typing import Protocol

import torch
import torch.distributed as dist

from rigwise.errors import CannotTell
from rigwise.speech import say
from rigwise.units import duration

AGREE_SECONDS = 30.0
"""Our choice: how much longer than this rank another one may take, besides as long again. NCCL's own limit, 10 minutes,
starts a job's death long after its cause (https://github.com/huggingface/lighteval/issues/896)."""


class Ranks(Protocol):
    """The processes of one job."""

    def smallest_and_largest(self, size: int) -> tuple[int, int]:
        """Of what every rank gave. Every rank must call it the same number of times."""


class OneRank:
    """A job of one process."""

    def smallest_and_largest(self, size: int) -> tuple[int, int]:
        """The size itself."""
        return size, size


class TorchRanks:
    """The ranks of an initialised `torch.distributed` job. Made when the search begins."""

    def __init__(self, limit_seconds: float = AGREE_SECONDS) -> None:
        self._limit_seconds = limit_seconds
        self._began = time.monotonic()

    def smallest_and_largest(self, size: int) -> tuple[int, int]:
        """Of all ranks.

        Raises:
            CannotTell: a rank did not answer in time, or is gone.
        """
        limit_seconds = self._limit_seconds + time.monotonic() - self._began
        device = "cuda" if dist.get_backend() == "nccl" else "cpu"
        both = torch.tensor([size, -size], device=device)
        try:
            work = dist.all_reduce(both, op=dist.ReduceOp.MIN, async_op=True)
            answered = work is None or work.wait(timedelta(seconds=limit_seconds))
            smallest, largest = both.tolist()
        except RuntimeError as error:
            raise _silent(limit_seconds, str(error).splitlines()[0]) from error
        if answered is False:
            raise _silent(limit_seconds, say("it neither answered nor ended"))
        return smallest, -largest


def ranks_here() -> Ranks:
    """The job this process belongs to."""
    together = dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1
    return TorchRanks() if together else OneRank()


def _silent(limit_seconds: float, why: str) -> CannotTell:
    return CannotTell(
        say("not every rank agreed on a batch size within {time}", time=duration(limit_seconds)),
        why,
        say("read the log of the rank that is missing, then start all ranks again"),
    )
