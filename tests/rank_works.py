"""What ranks do in the tests of jobs: each piece fails in its own way, or not."""

import importlib
import os
import signal
import time

import msgspec
import torch
from simulated_gpu import SimulatedGpu

from rigwise.train.ranks.rank import Rank
from rigwise.train.recipe_sections import Recipe
from rigwise.train.step.device import CpuDevice, Device
from rigwise.train.step.vram_simulation import simulate_vram
from rigwise.units import MIB

LIMIT_BYTES = 13 * MIB
"""Between the 9.5 MiB of two pictures of 96 px at once and the 17.2 MiB of four (measured)."""


class Sum(msgspec.Struct, frozen=True):
    """Every rank gives its number and one; rank 0 returns the sum."""

    def __call__(self, rank: Rank) -> float:
        rank.tell(f"rank {rank.number} of {rank.num_ranks}")
        device = "cuda" if rank.backend == "nccl" else "cpu"
        return float(rank.mean(torch.tensor(rank.number + 1.0, device=device))) * rank.num_ranks


class Agree(msgspec.Struct, frozen=True):
    """What the ranks agree on: all say yes, one says no, and the sum of what each counted."""

    def __call__(self, rank: Rank) -> tuple[bool, bool, int]:
        return rank.everywhere(True), rank.everywhere(rank.number == 0), rank.total(rank.number + 1)


class Loop(msgspec.Struct, frozen=True):
    """Steps in which all ranks meet, until one of them does `what`."""

    who: int
    what: str
    at_step: int = 3

    def __call__(self, rank: Rank) -> str:
        for step in range(1_000_000):
            rank.guard.mark(f"step {step}")
            if rank.number == self.who and step == self.at_step:
                misbehave(self.what)
            rank.tell(("step", rank.number, step, os.getpid()))
            rank.mean(torch.tensor(1.0))
            time.sleep(0.01)
        return "the end"


def misbehave(what: str) -> None:
    """Fail in one of the ways in which ranks do."""
    match what:
        case "raises":
            raise ValueError("the loader met a picture of 0 bytes")
        case "is killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "crashes":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "cannot be imported":
            importlib.import_module("not_here")
        case "leaves":
            os._exit(3)
        case "sleeps":
            time.sleep(10_000)


def small_on_rank_1(rank: Rank) -> Device:
    """The second rank has a GPU too small for its rows."""
    return SimulatedGpu(simulate_vram(LIMIT_BYTES)) if rank.number == 1 else CpuDevice()


def exploding(recipe: Recipe) -> Recipe:
    """With a learning rate under which no loss stays finite."""
    training = msgspec.structs.replace(recipe.training, learning_rate=1e30, warmup_steps=0)
    return msgspec.structs.replace(recipe, training=training)
