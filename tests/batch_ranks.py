"""Two gloo ranks, as child processes of the tests."""

import time
from collections.abc import Sequence
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn

from rigwise.errors import CannotTell
from rigwise.sources.children import Tell
from rigwise.train.batch.ranks import TorchRanks
from rigwise.train.batch.recovery import RecoveringStep

SIZES = (48, 24)


def join(rank: int, store: str) -> None:
    dist.init_process_group("gloo", store=dist.FileStore(store, 2), rank=rank, world_size=2)


def agree(rank: int, store: str, tell: Tell, folder: Path) -> None:
    join(rank, store)
    tell(TorchRanks().smallest_and_largest(SIZES[rank]))
    dist.barrier()
    dist.destroy_process_group()


def run_out(rank: int, store: str, tell: Tell, folder: Path) -> None:
    """Memory ends on rank 0 in the middle of a step."""
    join(rank, store)
    model = nn.Linear(4, 1)
    before = model.weight.detach().clone()

    def loss(model: nn.Module, batch: Sequence[Tensor]) -> Tensor:
        if rank == 0 and len(batch[0]) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB. (simulated)")
        return model(batch[0]).mean()

    step = RecoveringStep(model, torch.optim.SGD(model.parameters(), lr=0.1), loss)
    try:
        step([torch.ones(8, 4)])
    except torch.OutOfMemoryError:
        tell(("raised", step.micro_batch_size, torch.equal(model.weight, before)))
    else:
        tell(("stepped", step.micro_batch_size, torch.equal(model.weight, before)))
    dist.barrier()
    dist.destroy_process_group()


def miss(how: str, rank: int, store: str, tell: Tell, folder: Path) -> None:
    """Rank 1 never answers."""
    join(rank, store)
    dist.barrier()
    if rank == 1:
        time.sleep(3 if how == "sleeps" else 0)
        return
    try:
        TorchRanks(limit_seconds=2.0).smallest_and_largest(24)
    except CannotTell as error:
        tell(error.what)
