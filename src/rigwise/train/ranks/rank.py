"""One process of a job of several: what it knows of itself and of the others, and how they agree."""

from collections.abc import Callable
from typing import Any, Literal

import msgspec
import torch
import torch.distributed as dist
from torch import Tensor

from rigwise.train.ranks.guard import Guard
from rigwise.train.ranks.rows import Rows

Backend = Literal["gloo", "nccl"]
"""`gloo` for CPUs, `nccl` for GPUs."""


class Rank(msgspec.Struct, frozen=True, kw_only=True):
    """This process among the others."""

    rows: Rows
    backend: Backend
    guard: Guard
    tell: Callable[[object], None]
    """Hands an object to the leader."""

    @property
    def number(self) -> int:
        """0 for the first."""
        return self.rows.rank

    @property
    def num_ranks(self) -> int:
        """Of the job."""
        return self.rows.num_ranks

    def mean(self, value: Tensor) -> Tensor:
        """The mean over all ranks, in place; every rank must call it."""
        dist.all_reduce(value)
        return value.div_(self.num_ranks)

    def total(self, number: int) -> int:
        """The sum over all ranks; every rank must call it."""
        value = self._tensor(number)
        dist.all_reduce(value)
        return int(value.item())

    def everywhere(self, agrees: bool) -> bool:
        """Whether every rank agrees; every rank must call it."""
        vote = self._tensor(int(agrees))
        dist.all_reduce(vote, op=dist.ReduceOp.MIN)
        return bool(vote.item())

    def _tensor(self, number: int) -> Tensor:
        return torch.tensor(number, device="cuda" if self.backend == "nccl" else "cpu")

    def gathered(self, value: Any) -> list[Any]:
        """What each rank gave, in the order of the ranks; every rank must call it."""
        values: list[Any] = [None] * self.num_ranks
        dist.all_gather_object(values, value)
        return values
