"""Ranks of an all-reduce that go wrong in one way each. They run in child processes, so they stand in a module."""

import os
import time
from pathlib import Path

from rigwise.sources.children import Tell
from rigwise.train.all_reduce import BEGUN, JOINED, Place, join_and_add


def stalls_with_direct_copies(place: Place, tell: Tell, folder: Path) -> None:
    """As GPUs whose direct copies stall: everyone joins, and no sum comes, unless they are switched off."""
    if place.environment.get("NCCL_P2P_DISABLE") == "1":
        join_and_add(place, tell, folder)
        return
    tell(BEGUN)
    tell(JOINED)
    time.sleep(600)


def rank_1_never_joins(place: Place, tell: Tell, folder: Path) -> None:
    if place.rank == 1:
        time.sleep(600)
    join_and_add(place, tell, folder)


def rank_1_dies(place: Place, tell: Tell, folder: Path) -> None:
    if place.rank == 1:
        raise RuntimeError("CUDA error: invalid device ordinal")
    join_and_add(place, tell, folder)


def rank_0_dies_after_joining(place: Place, tell: Tell, folder: Path) -> None:
    tell(BEGUN)
    tell(JOINED)
    if place.rank == 0:
        os.write(2, b"NCCL WARN Cuda failure 'out of memory'\n")
        os._exit(1)
    time.sleep(600)


def cannot_reach_each_other(place: Place, tell: Tell, folder: Path) -> None:
    tell(BEGUN)
    time.sleep(600)


def adds_wrongly(place: Place, tell: Tell, folder: Path) -> None:
    tell(BEGUN)
    tell(JOINED)
    tell(4)
