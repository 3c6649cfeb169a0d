"""Trainings for batch probes. They run in child processes, so they stand in a module that can be imported there."""

import ctypes
import os
import signal
import time
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import torch
from simulated_gpu import SimulatedGpu
from torch import Tensor, nn

from rigwise.train.batch.training import TorchTraining
from rigwise.train.step.vram_simulation import simulate_vram


def out_of_memory() -> None:
    """What torch raises."""
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB. (simulated)")


class Scripted(msgspec.Struct, frozen=True, kw_only=True):
    """Takes no memory; fails where its fields say. As the facts page's oomsim: the exception is torch's own."""

    batch_size: int
    train_limit: int = 10**9
    late_limit: int = 10**9
    late_step: int = 0
    val_limit: int = 10**9
    val_times: int = 1
    save_limit: int = 10**9
    crash_above: int = 10**9
    crash_with: str = ""

    def train_step(self, step: int) -> None:
        if self.batch_size > self.train_limit or (self.batch_size > self.late_limit and step >= self.late_step):
            out_of_memory()
        if self.crash_with and self.batch_size > self.crash_above and step >= self.late_step:
            CRASHES[self.crash_with]()

    def validate(self) -> None:
        if self.batch_size * self.val_times > self.val_limit:
            out_of_memory()

    def save(self, path: Path) -> None:
        if self.batch_size > self.save_limit:
            out_of_memory()
        path.write_text("saved")

    def load(self, path: Path) -> None:
        assert path.read_text() == "saved"


def layout_error() -> None:
    raise RuntimeError("cuDNN error: CUDNN_STATUS_NOT_SUPPORTED. This error may appear for a non-contiguous input.")


CRASHES = {
    "segfault": lambda: ctypes.string_at(0),
    "hang": lambda: time.sleep(600),
    "killed": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "layout": layout_error,
}


def scripted(**fields: Any) -> Any:
    """Batch size to a `Scripted`."""
    return partial(_scripted, fields)


def _scripted(fields: dict[str, Any], batch_size: int) -> Scripted:
    return Scripted(batch_size=batch_size, **fields)


FEATURES, TIMES = 256, 16


class Widened(nn.Module):
    """Many activations for few parameters: 16 KiB of each sample kept for the backward pass, several times."""

    def forward(self, features: Tensor) -> Tensor:
        return features.repeat(1, TIMES).relu().exp().clamp(max=2).view(-1, TIMES, FEATURES).mean(dim=1)


def small_net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(32, FEATURES), Widened(), nn.Linear(FEATURES, 4))


def mean_loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
    return nn.functional.cross_entropy(model(batch[0]), batch[1])


def rows(batch_size: int, step: int = 0) -> tuple[Tensor, Tensor]:
    return torch.full((batch_size, 32), 0.01 * (step % 7)), torch.arange(batch_size) % 4


def real(batch_size: int, val_size: int | None = None) -> TorchTraining:
    """A small network on real tensors; some 60 KiB of activations for each sample."""
    model = small_net()
    return TorchTraining(
        model=model,
        optimizer=torch.optim.AdamW(model.parameters()),
        loss=mean_loss,
        train_batch=partial(rows, batch_size),
        val_batches=lambda: [rows(val_size or batch_size)],
    )


class Leaking(TorchTraining, kw_only=True):
    """Keeps a tensor of every step, whatever the batch."""

    kept: list[Tensor] = msgspec.field(default_factory=list)
    bytes_per_step: int = 2**20

    def train_step(self, step: int) -> None:
        super().train_step(step)
        self.kept.append(torch.zeros(self.bytes_per_step, dtype=torch.uint8))


class SumsItsLoss(TorchTraining, kw_only=True):
    """`sum_loss += loss`: keeps the graph of every step (pytorch issue 1840)."""

    total: Any = 0.0

    def train_step(self, step: int) -> None:
        loss = self.loss(self.model, self.train_batch(step))
        self.total = self.total + loss
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward(retain_graph=True)
        self.optimizer.step()


def of_kind(kind: type[TorchTraining], batch_size: int) -> TorchTraining:
    parts = real(batch_size)
    return kind(
        model=parts.model,
        optimizer=parts.optimizer,
        loss=parts.loss,
        train_batch=parts.train_batch,
        val_batches=parts.val_batches,
    )


def long_sample_late(late_step: int, order: str, batch_size: int) -> TorchTraining:
    """Texts of length 1, and one of length 64 at `late_step`; `order` worst first, or as they come."""

    def batch(step: int) -> tuple[Tensor, Tensor]:
        is_long = step == (0 if order == "worst first" else late_step)
        return rows(batch_size * (64 if is_long else 1), step)

    parts = real(batch_size)
    parts.train_batch = batch
    return parts


def simulated(limit_bytes: int) -> SimulatedGpu:
    """A GPU with so much memory."""
    return SimulatedGpu(simulate_vram(limit_bytes))
