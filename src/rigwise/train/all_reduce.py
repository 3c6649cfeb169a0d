"""One all-reduce among processes of this machine, with an end: before a job of several GPUs waits half an hour for it.

Each rank is a process of its own that joins and adds one number. Where that hangs, it is tried once more without direct
copies between the GPUs: on many boards they are announced and then stall, with the IOMMU or PCIe access control on
(https://github.com/huggingface/accelerate/issues/1209).
"""

import os
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

import msgspec
import torch
import torch.distributed as dist

from rigwise.sources.children import Ending, Tell, run_in_child
from rigwise.speech import say
from rigwise.train.batch.child import PRELOADED
from rigwise.units import duration

LIMIT_SECONDS = 60.0
"""Our choice: NCCL starts in a few seconds; its own limit is 10 to 30 minutes."""
WITHOUT_DIRECT_COPIES = {"NCCL_P2P_DISABLE": "1"}
"""https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-p2p-disable"""
BEGUN, JOINED = "begun", "joined"
"""What a rank tells before and after it joins the others; the sum comes third."""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Who one process of the test is."""

    rank: int
    num_ranks: int
    backend: str
    store: str
    """A file in which the ranks find each other."""
    environment: dict[str, str]
    limit_seconds: float


Member = Callable[[Place, Tell, Path], None]
"""What a rank does: tells `BEGUN`, `JOINED`, then the sum."""


class AllReduceProof(msgspec.Struct, frozen=True, kw_only=True):
    """Whether processes on this machine can add their numbers up."""

    works: bool
    seconds: float
    """Of the last try, start of the processes included."""
    cause: str = ""
    """What stands in the way; also where it works only without direct copies."""
    next_step: str = ""


def prove_all_reduce(
    num_ranks: int,
    *,
    backend: str = "nccl",
    limit_seconds: float = LIMIT_SECONDS,
    without: Mapping[str, str] | None = None,
    member: Member | None = None,
) -> AllReduceProof:
    """Whether so many processes can join and add a number each within the limit, and if not, why.

    Args:
        num_ranks: one for each GPU with `nccl`.
        backend: of `torch.distributed`: `nccl` for GPUs, `gloo` for CPUs.
        limit_seconds: for each of the two tries.
        without: environment of the second try; by default no direct copies for `nccl`, and no second try for others.
        member: what each rank does.
    """
    second = without if without is not None else WITHOUT_DIRECT_COPIES if backend == "nccl" else {}
    attempt = partial(_attempt, num_ranks, backend, limit_seconds, member or join_and_add)
    first = attempt({})
    if first.works or not second:
        return first
    again = attempt(dict(second))
    if not again.works:
        return first
    settings = " ".join(f"{name}={value}" for name, value in second.items())
    return msgspec.structs.replace(
        again,
        works=False,
        cause=say(
            "direct copies between the GPUs stall: {first}; with {settings} it works",
            first=first.cause,
            settings=settings,
        ),
        next_step=say(
            "export {settings}, or switch off the IOMMU and PCIe access control in the firmware", settings=settings
        ),
    )


def join_and_add(place: Place, tell: Tell, folder: Path) -> None:
    """Joins the others and adds this rank's number, on its own GPU with `nccl`."""
    os.environ.update(place.environment)
    device = torch.device("cuda", place.rank) if place.backend == "nccl" else torch.device("cpu")
    tell(BEGUN)
    dist.init_process_group(
        place.backend,
        init_method=f"file://{place.store}",
        rank=place.rank,
        world_size=place.num_ranks,
        timeout=timedelta(seconds=place.limit_seconds),
    )
    tell(JOINED)
    number = torch.tensor([place.rank + 1], device=device)
    dist.all_reduce(number)
    tell(int(number.item()))
    dist.destroy_process_group()


class _Heard:
    """What one rank told, and how it ended."""

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.ending: Ending | None = None

    @property
    def fault(self) -> str:
        """The last line of what it raised or printed; "" where it was only silent."""
        if self.ending is None or self.ending.exit_code is None:
            return ""
        return next(iter((self.ending.failure or self.ending.printed).strip().splitlines()[-1:]), "")


def _attempt(
    num_ranks: int, backend: str, limit_seconds: float, member: Member, environment: dict[str, str]
) -> AllReduceProof:
    began = monotonic()
    heard = [_Heard() for _ in range(num_ranks)]
    with tempfile.TemporaryDirectory(prefix="rigwise-") as folder:

        def take_part(rank: int) -> None:
            place = Place(
                rank=rank,
                num_ranks=num_ranks,
                backend=backend,
                store=f"{folder}/store",
                environment=environment,
                limit_seconds=limit_seconds / 2,
            )
            heard[rank].ending = run_in_child(
                partial(member, place),
                silence_seconds=limit_seconds / 2,
                told=heard[rank].told.append,
                preload=PRELOADED,
            )

        ranks = [threading.Thread(target=take_part, args=(rank,)) for rank in range(num_ranks)]
        for each in ranks:
            each.start()
        for each in ranks:
            each.join()
    return _judged(heard, monotonic() - began, limit_seconds)


def _judged(heard: Sequence[_Heard], seconds: float, limit_seconds: float) -> AllReduceProof:
    due = len(heard) * (len(heard) + 1) // 2
    if all(each.told == [BEGUN, JOINED, due] for each in heard):
        return AllReduceProof(works=True, seconds=seconds)
    return AllReduceProof(
        works=False,
        seconds=seconds,
        cause=_cause(heard, due, limit_seconds),
        next_step=say("run with NCCL_DEBUG=INFO and read the last line of each rank; then: rigwise check"),
    )


def _cause(heard: Sequence[_Heard], due: int, limit_seconds: float) -> str:
    """What went wrong first: a rank that never began, one that failed, a wrong sum, then silence and where it began."""
    limit = duration(limit_seconds)
    absent = [rank for rank, each in enumerate(heard) if not each.told]
    if absent:
        reason = heard[absent[0]].fault or say("it said nothing")
        return say(
            "rank {ranks} never began to join within {limit}: {reason}",
            ranks=_names(absent),
            limit=limit,
            reason=reason,
        )
    failed = [(rank, each.fault) for rank, each in enumerate(heard) if len(each.told) < 3 and each.fault]
    if failed:
        return say("rank {rank} failed: {fault}", rank=failed[0][0], fault=failed[0][1])
    wrong = [(rank, each.told[2]) for rank, each in enumerate(heard) if len(each.told) > 2 and each.told[2] != due]
    if wrong:
        return say("rank {rank} got the sum {sum}, not {due}", rank=wrong[0][0], sum=wrong[0][1], due=due)
    apart = [rank for rank, each in enumerate(heard) if len(each.told) < 2]
    if apart:
        return say("rank {ranks} began and could not join the others within {limit}", ranks=_names(apart), limit=limit)
    silent = [rank for rank, each in enumerate(heard) if len(each.told) < 3]
    return say("all ranks joined, and rank {ranks} got no sum within {limit}", ranks=_names(silent), limit=limit)


def _names(ranks: Sequence[int]) -> str:
    return ", ".join(map(str, ranks))
