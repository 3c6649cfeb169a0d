"""Two gloo ranks, as child processes of the tests."""

import time
from pathlib import Path

import torch.distributed as dist

from rigwise.errors import CannotTell
from rigwise.sources.children import Tell
from rigwise.train.batch.ranks import TorchRanks

SIZES = (48, 24)


def join(rank: int, store: str) -> None:
    dist.init_process_group("gloo", store=dist.FileStore(store, 2), rank=rank, world_size=2)


def agree(rank: int, store: str, tell: Tell, folder: Path) -> None:
    join(rank, store)
    tell(TorchRanks().smallest_and_largest(SIZES[rank]))
    dist.barrier()
    dist.destroy_process_group()


def miss(how: str, rank: int, store: str, tell: Tell, folder: Path) -> None:
    """Rank 1 never answers."""
    join(rank, store)
    dist.barrier()
    if rank == 1:
        time.sleep(5 if how == "sleeps" else 0)
        return
    try:
        TorchRanks(limit_seconds=2.0).smallest_and_largest(24)
    except CannotTell as error:
        tell(error.what)
