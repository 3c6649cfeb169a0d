"""One optimiser step of several ranks: each takes its rows, the gradient is that of the whole batch.

The model is wrapped in DistributedDataParallel, which averages gradients over the ranks while the backward pass goes
on. BatchNorm takes its statistics over all ranks, so that micro-batches are as many in each: they meet in every layer.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from rigwise.speech import say
from rigwise.train.batch.parity import Loss, num_samples
from rigwise.train.batch.recovery import RecoveringStep
from rigwise.train.ranks.batch_norm import BatchNormOverRanks
from rigwise.train.ranks.rank import Rank
from rigwise.train.step.device import Device


class RankStep(RecoveringStep):
    """This rank's part of every step. What makes a rank change its precision makes all of them change it."""

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        loss: Loss,
        *,
        rank: Rank,
        batch_size: int,
        micro_batch_size: int | None,
        **options: Any,
    ) -> None:
        """Steps of this model.

        Args:
            model: the same in every rank.
            optimizer: of its parameters.
            loss: as `RecoveringStep` takes it.
            rank: this one.
            batch_size: samples of the whole batch, of all ranks.
            micro_batch_size: most samples of this rank at once; None for all of its rows.
            options: the others of `RecoveringStep`.
        """
        self._rank = rank
        self._batch_size = batch_size
        self._model_of_all = DistributedDataParallel(model, broadcast_buffers=False)
        self._loss_of_all = loss
        self._over_ranks = BatchNormOverRanks() if rank.backend == "gloo" else nullcontext()
        super().__init__(model, optimizer, self._through_ddp, **options)
        self.micro_batch_size = micro_batch_size
        if (
            rank.number
        ):  # rank 0 draws what one process draws; dropout of the same rows in all ranks would be no dropout
            torch.manual_seed(torch.initial_seed() + rank.number)

    def _through_ddp(self, model: nn.Module, batch: Sequence[Tensor]) -> Tensor:
        """The loss of rows of this rank; its backward pass exchanges gradients, unless they are not the last."""
        with self._over_ranks:
            loss = self._loss_of_all(self._model_of_all, batch)
        if self._model_of_all.require_backward_grad_sync:
            self._rank.guard.mark(say("exchanging gradients"))
        return loss

    def _backward(self, batch: Sequence[Tensor]) -> Tensor:
        """The mean loss of the whole batch. DDP takes the mean over ranks, so each weighs by what its mean is over."""
        parts = list(self._parts(batch))
        counts = [self._count(part) for part in parts]
        weight = self._rank.num_ranks / self._count_of_all(sum(counts))
        losses = []
        for place, (part, count) in enumerate(zip(parts, counts, strict=True), start=1):
            with nullcontext() if place == len(parts) else self._model_of_all.no_sync():
                losses.append(self._backward_part(part, weight * count))
        return self._rank.mean(torch.stack(losses).sum())

    def _count_of_all(self, own: int) -> int:
        """The terms of the whole batch's mean: rows are known, tokens are asked for."""
        return self._batch_size if self._count is num_samples else max(1, self._rank.total(own))

    def alone_seconds(self, batches: Iterable[Sequence[Tensor]], device: Device) -> float:
        """Mean time of a step, loading included, that exchanges nothing and changes no weight.

        In evaluation mode, in which BatchNorm looks at no other rank.
        """
        self.model.eval()
        self.optimizer.zero_grad(set_to_none=True)
        device.synchronize()
        began, num_steps = time.perf_counter(), 0
        with self._model_of_all.no_sync():
            for batch in batches:
                for part in self._parts(batch):
                    self._backward_part(part, 1.0)
                num_steps += 1
        device.synchronize()
        return (time.perf_counter() - began) / num_steps

    def _parts(self, batch: Sequence[Tensor]) -> Iterator[Sequence[Tensor]]:
        """As many in every rank: rank 0 has the most rows."""
        num_rows = self._rank.rows.most(self._batch_size)
        num_parts = -(-num_rows // min(self.micro_batch_size or num_rows, num_rows))
        yield from zip(*(tensor.tensor_split(num_parts) for tensor in batch), strict=True)

    def _where_not_finite(self, batch: Sequence[Tensor]) -> str:
        """The first rank's words that has any."""
        words = self._rank.gathered(super()._where_not_finite(batch))
        named = (say("rank {rank}: {words}", rank=rank, words=each) for rank, each in enumerate(words) if each)
        return next(named, "")
