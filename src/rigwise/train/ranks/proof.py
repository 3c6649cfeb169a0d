"""Whether the ranks of this machine can talk to each other at all, in 60 s at most: before a training that would hang.

NCCL waits for 10 to 30 minutes where copies between GPUs are blocked (https://github.com/huggingface/accelerate/issues/1209).
Where that is so, the same is tried without such copies, and kept if it works.
"""

import time
from collections.abc import Mapping

import msgspec
import torch

from rigwise.records.smoke import Link, SmokeReport
from rigwise.speech import say
from rigwise.train.ranks.failure import RankEnded
from rigwise.train.ranks.job import run_ranks
from rigwise.train.ranks.mail import Came, RankWork
from rigwise.train.ranks.rank import Rank
from rigwise.train.ranks.setup import RanksSetup
from rigwise.units import MIB

PROOF_SECONDS = 60.0
"""Case B104 asks for it; starting two ranks takes about 5 s of it."""
PROOF_BYTES = 64 * MIB
"""Our choice: two to three buckets of DDP's default 25 MiB, so that what a training sends fits in it."""
WITHOUT_P2P = {"NCCL_P2P_DISABLE": "1"}
"""https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-p2p-disable"""
GIGABYTE = 1e9


class AllReduce(msgspec.Struct, frozen=True):
    """A small sum over all ranks, then a large one; rank 0 returns what the large one took, in seconds."""

    def __call__(self, rank: Rank) -> float:
        """Sum, and look at the result.

        Raises:
            ValueError: a sum is wrong.
        """
        device = f"cuda:{rank.number}" if rank.backend == "nccl" else "cpu"
        self._at(rank, say("an all-reduce of 4 bytes: the first exchange"))
        _sum(rank, torch.ones(1, device=device))
        self._at(rank, say("an all-reduce of 64 MiB: copies between the devices"))
        values = torch.ones(PROOF_BYTES // 4, device=device)
        began = time.perf_counter()
        _sum(rank, values)
        return time.perf_counter() - began

    @staticmethod
    def _at(rank: Rank, place: str) -> None:
        rank.guard.mark(place)
        rank.tell(Came(place))


def _sum(rank: Rank, values: torch.Tensor) -> None:
    mean = rank.mean(values)
    if not bool((mean == 1).all()):  # waits for the device
        raise ValueError(say("the sum over all ranks is wrong"))


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it."""

    setup: RanksSetup
    """The one to train with: what had to be left out is in its environment."""
    links: tuple[Link, ...]
    failure: RankEnded | None = None
    """Of the last try, where none worked."""

    @property
    def report(self) -> SmokeReport:
        """For `rigwise smoke`."""
        proved = say("{count} ranks can talk to each other", count=self.setup.num_ranks)
        train = say("rigwise train DATA")
        next_step = say("rigwise check") if self.failure else f"{train} --ranks {self.setup.num_ranks}"
        return SmokeReport(links=self.links, proved=proved, next_step=next_step)


def prove_ranks(
    setup: RanksSetup,
    *,
    work: RankWork | None = None,
    limit_seconds: float = PROOF_SECONDS,
    otherwise: Mapping[str, str] | None = None,
) -> Proof:
    """Whether every rank gets the sum over all ranks, in time.

    Args:
        setup: how many ranks, over what.
        work: what they do; `AllReduce` if not given.
        limit_seconds: of each try.
        otherwise: variables for a second try; without copies between GPUs where the ranks are GPUs, if not given.
    """
    second = otherwise if otherwise is not None else WITHOUT_P2P if setup.backend == "nccl" else {}
    first = _tried(setup, work or AllReduce(), limit_seconds)
    if first.failure is None or not second:
        return first
    again = _tried(_with(setup, second), work or AllReduce(), limit_seconds)
    return msgspec.structs.replace(again, links=(*_as_known(first.links, again), *again.links))


def _with(setup: RanksSetup, variables: Mapping[str, str]) -> RanksSetup:
    return msgspec.structs.replace(setup, environment=(*setup.environment, *variables.items()))


def _as_known(links: tuple[Link, ...], again: Proof) -> tuple[Link, ...]:
    """The links of the first try; one that broke does not stop anybody where the second try worked."""
    if again.failure is not None:
        return links
    return tuple(msgspec.structs.replace(link, ok=None) if link.ok is False else link for link in links)


def _tried(setup: RanksSetup, work: RankWork, limit_seconds: float) -> Proof:
    name = say("all-reduce of {count} ranks ({backend})", count=setup.num_ranks, backend=setup.backend)
    variables = dict(setup.environment)
    if variables:
        name = f"{name}, {' '.join(f'{key}={value}' for key, value in variables.items())}"
    try:
        seconds = run_ranks(
            work, setup.num_ranks, backend=setup.backend, environment=variables, limit_seconds=limit_seconds
        )
    except RankEnded as error:
        lines = error.why.strip().splitlines()
        told = lines[-1:] if error.cause else lines  # of a traceback the last line; of a time limit where each rank is
        text = "; ".join([error.what, *told])
        return Proof(setup=setup, links=(Link(name=name, ok=False, text=text),), failure=error)
    speed = f"{PROOF_BYTES / seconds / GIGABYTE:.3g}"
    text = say("the sum is right, {speed} GB/s for each rank", speed=speed)
    return Proof(setup=setup, links=(Link(name=name, ok=True, text=text),))
