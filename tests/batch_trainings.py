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

from rigwise.train.batch.training import TorchTraining, worst_first
from rigwise.train.step.device import CpuDevice, DeviceMemory
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
    hang_in_validation_above: int = 10**9

    def train_step(self, step: int) -> None:
        if self.batch_size > self.train_limit or (self.batch_size > self.late_limit and step >= self.late_step):
            out_of_memory()
        if self.crash_with and self.batch_size > self.crash_above and step >= self.late_step:
            CRASHES[self.crash_with]()

    def validate(self) -> None:
        if self.batch_size > self.hang_in_validation_above:
            time.sleep(600)
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


def jax_exit() -> None:
    """Ends as a program does whose library prints what went wrong."""
    os.write(
        2, b"W external/xla/bfc_allocator.cc:497] RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8 bytes."
    )
    os._exit(1)


def bad_alloc() -> None:
    """Ends as C++ does."""
    os.write(2, b"terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n")
    os.abort()


def own_handler() -> None:
    """Ends as a script that catches the error itself."""
    print("CUDA out of memory. Tried to allocate 2.00 GiB. Choose a smaller batch.", flush=True)
    raise SystemExit(1)


def overcome() -> None:
    """Tells of an error it overcame, and dies of another one."""
    print("CUDA out of memory. Tried to allocate 2.00 GiB. Trying again.", flush=True)
    ctypes.string_at(0)


CRASHES = {
    "jax_exit": jax_exit,
    "bad_alloc": bad_alloc,
    "own_handler": own_handler,
    "overcome": overcome,
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


class KeepsOnce(TorchTraining, kw_only=True):
    """Takes 4 MiB in its first step and never gives them back."""

    def train_step(self, step: int) -> None:
        super().train_step(step)
        if not LEFT_BEHIND:
            LEFT_BEHIND.append(torch.zeros(4 * 2**20, dtype=torch.uint8))


LEFT_BEHIND: list[Tensor] = []


class SumsItsLoss(TorchTraining, kw_only=True):
    """`sum_loss += loss`: keeps the graph of every step (pytorch issue 1840)."""

    total: Any = 0.0

    def train_step(self, step: int) -> None:
        loss = self.loss(self.model, self.train_batch(step))
        self.total = self.total + loss
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward(retain_graph=True)
        self.optimizer.step()


class AsksForValues(TorchTraining, kw_only=True):
    """Reads its loss back, looks whether it is finite and clips: what loops do."""

    losses: list[float] = msgspec.field(default_factory=list)

    def train_step(self, step: int) -> None:
        loss = self.loss(self.model, self.train_batch(step))
        if not torch.isfinite(loss):
            raise ValueError("the loss is not finite")
        self.losses.append(loss.item())
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()


class ReadsAShape(TorchTraining, kw_only=True):
    """Takes as many rows as a tensor says: what a trace cannot know."""

    def train_step(self, step: int) -> None:
        features, labels = self.train_batch(step)
        kept = int((torch.zeros_like(labels) + labels >= 0).sum())
        self.train_batch = lambda step: (features[:kept], labels[:kept])
        super().train_step(step)


def moved(batch_size: int) -> TorchTraining:
    """Tied weights, a buffer, and the optimiser made before the model is moved and before a first step."""
    torch.manual_seed(0)
    embed = nn.Linear(32, 32)
    tied = nn.Linear(32, 32, bias=False)
    tied.weight = embed.weight
    model = nn.Sequential(embed, nn.BatchNorm1d(32), tied)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(2, 32)).sum().backward()
    optimizer.step()
    model.to("cpu")
    rows_of = partial(rows, batch_size)
    return TorchTraining(model=model, optimizer=optimizer, loss=mean_loss, train_batch=rows_of)


def compiled(folder: str, batch_size: int) -> TorchTraining:
    """Notes that it compiled."""
    with (Path(folder) / "compiled").open("a") as noted:
        print(batch_size, file=noted)
    training = real(batch_size)
    training.model = torch.compile(training.model, backend="eager")
    return training


def with_graphs(graph_bytes: int, batch_size: int) -> TorchTraining:
    """As one that compiled, and keeps so much for it."""
    training = of_kind(KeepsItsGraphs, batch_size)
    training.graph_bytes = graph_bytes
    return training


class KeepsItsGraphs(TorchTraining, kw_only=True):
    """Holds so much from its first step on."""

    graph_bytes: int = 0
    graphs: list[Tensor] = msgspec.field(default_factory=list)

    def train_step(self, step: int) -> None:
        super().train_step(step)
        if not self.graphs:
            self.graphs.append(torch.zeros(self.graph_bytes, dtype=torch.uint8))


class KeepsItsOutputs(TorchTraining, kw_only=True):
    """Keeps 2 MiB of outputs of each validation."""

    outputs: list[Tensor] = msgspec.field(default_factory=list)

    def validate(self) -> None:
        super().validate()
        self.outputs.append(torch.zeros(2 * 2**20, dtype=torch.uint8))


class Accumulates(TorchTraining, kw_only=True):
    """Four micro-batches a step, the first one far larger than the others."""

    def train_step(self, step: int) -> None:
        features, labels = self.train_batch(step)
        self.optimizer.zero_grad(set_to_none=True)
        for part in range(4):
            rows = slice(0, None) if part == 0 else slice(part, part + 1)
            self.loss(self.model, (features[rows], labels[rows])).backward()
        self.optimizer.step()


class OnTheWrongDevice(nn.Module):
    """Makes a tensor where it stands and not where its input is: lightning issue 17299."""

    def forward(self, features: Tensor) -> Tensor:
        return features * torch.ones(features.shape)


def on_the_wrong_device(batch_size: int) -> TorchTraining:
    """A model elsewhere, whose layer mixes devices."""
    training = real(batch_size)
    training.model = nn.Sequential(training.model, OnTheWrongDevice()).to("meta")
    training.train_batch = lambda step: tuple(tensor.to("meta") for tensor in rows(batch_size, step))
    return training


def resnet18(bf16: bool, batch_size: int) -> TorchTraining:
    """torchvision's, on pictures of 224 pixels."""
    from torchvision.models import resnet18

    def loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            return nn.functional.cross_entropy(model(batch[0]).float(), batch[1])

    model = resnet18()
    return TorchTraining(
        model=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9),
        loss=loss,
        train_batch=lambda step: (torch.zeros(batch_size, 3, 224, 224), torch.zeros(batch_size, dtype=torch.long)),
    )


def wide(batch_size: int) -> TorchTraining:
    """Rows of 1 MiB each, made of one."""
    training = real(batch_size)
    training.loss = lambda model, batch: model(batch[0]).sum() + torch.zeros(batch_size, 2**18).exp().sum()
    return training


def of_kind(kind: type[TorchTraining], batch_size: int) -> TorchTraining:
    parts = real(batch_size)
    return kind(
        model=parts.model,
        optimizer=parts.optimizer,
        loss=parts.loss,
        train_batch=parts.train_batch,
        val_batches=parts.val_batches,
    )


def simulated(limit_bytes: int) -> SimulatedGpu:
    """A GPU with so much memory."""
    return SimulatedGpu(simulate_vram(limit_bytes))


class BusyGpu(SimulatedGpu):
    """Others take all but `left_bytes` of it once it was asked `asked` times."""

    def __init__(self, limit_bytes: int, left_bytes: int, asked: int) -> None:
        self._all = simulate_vram(limit_bytes)
        super().__init__(self._all)
        self._total_bytes, self._left_bytes, self._asked = limit_bytes, left_bytes, asked

    def memory(self) -> DeviceMemory:
        self._asked -= 1
        if self._asked < 0:
            self._all.limit_bytes = self._left_bytes
        return msgspec.structs.replace(super().memory(), total=self._total_bytes)


class SharedGpu(SimulatedGpu):
    """Others hold all but what is simulated."""

    def __init__(self, total_bytes: int, left_bytes: int) -> None:
        super().__init__(simulate_vram(left_bytes))
        self._total_bytes = total_bytes

    def memory(self) -> DeviceMemory:
        return msgspec.structs.replace(super().memory(), total=self._total_bytes)


def held_elsewhere(total_bytes: int, left_bytes: int) -> SharedGpu:
    return SharedGpu(total_bytes, left_bytes)


class BorrowedGpu(SimulatedGpu):
    """Others take so much for a moment in the middle, and give it back."""

    def __init__(self, limit_bytes: int, taken_bytes: int) -> None:
        super().__init__(simulate_vram(limit_bytes))
        self._taken_bytes, self._asked = taken_bytes, 0

    def memory(self) -> DeviceMemory:
        self._asked += 1
        now = super().memory()
        return msgspec.structs.replace(now, free=now.free - self._taken_bytes) if self._asked == 5 else now


def borrowed(limit_bytes: int, taken_bytes: int) -> BorrowedGpu:
    return BorrowedGpu(limit_bytes, taken_bytes)


class DecodingGpu(SimulatedGpu):
    """A library takes 1 MiB more each time the memory is asked for, outside of PyTorch."""

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(simulate_vram(limit_bytes))
        self._asked = 0

    def memory(self) -> DeviceMemory:
        self._asked += 1
        now = super().memory()
        return msgspec.structs.replace(now, free=now.free - self._asked * 2**20)


class SpillingGpu(SimulatedGpu):
    """WSL: the driver gives more than the card has, out of the machine's RAM."""

    def __init__(self, total_bytes: int) -> None:
        super().__init__(simulate_vram(16 * total_bytes))
        self._card_bytes = total_bytes

    def memory(self) -> DeviceMemory:
        now = super().memory()
        return msgspec.structs.replace(now, total=self._card_bytes, free=max(0, self._card_bytes - now.allocated))


class FragmentedGpu(SimulatedGpu):
    """Keeps half as much again as its tensors need, in pieces."""

    def memory(self) -> DeviceMemory:
        now = super().memory()
        return msgspec.structs.replace(now, reserved=now.allocated * 3 // 2)


def busy(limit_bytes: int, left_bytes: int, asked: int) -> BusyGpu:
    return BusyGpu(limit_bytes, left_bytes, asked)


def fragmented(limit_bytes: int) -> FragmentedGpu:
    return FragmentedGpu(simulate_vram(limit_bytes))


def large_validation(batch_size: int) -> TorchTraining:
    """Validates four training batches at once."""
    return real(batch_size, val_size=4 * batch_size)


class GathersToSave(TorchTraining, kw_only=True):
    """Gathers 16 MiB to save, as the first rank of a sharded model does."""

    def save(self, path: Path) -> None:
        gathered = torch.zeros(16 * 2**20, dtype=torch.uint8)
        super().save(path)
        del gathered


def worst_lengths(lengths: tuple[int, ...], ordered: bool, batch_size: int) -> TorchTraining:
    """Texts of these lengths, batch by batch, padded to the longest of each."""
    order = worst_first(lengths, batch_size) if ordered else list(range(len(lengths)))

    def batch(step: int) -> tuple[Tensor, Tensor]:
        places = [order[(step * batch_size + place) % len(order)] for place in range(batch_size)]
        return rows(batch_size * max(lengths[place] for place in places), step)

    parts = real(batch_size)
    parts.train_batch = batch
    return parts


def cpu() -> CpuDevice:
    """No GPU."""
    return CpuDevice()
