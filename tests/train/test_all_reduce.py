"""The all-reduce with an end: real gloo ranks, and ranks that go wrong in one way each."""

import time
from typing import Any

import all_reduce_members as members
import pytest

import rigwise
from rigwise.train.all_reduce import AllReduceProof

LIMIT_SECONDS = 10.0
"""A rank of a busy machine takes seconds to begin."""


def proof(limit_seconds: float = LIMIT_SECONDS, **options: Any) -> AllReduceProof:
    found = rigwise.prove_all_reduce(2, backend="gloo", limit_seconds=limit_seconds, **options)
    assert isinstance(found, AllReduceProof)
    return found


def test_b104_two_gloo_ranks_add_their_numbers() -> None:
    found = proof(limit_seconds=60.0)
    assert (found.works, found.cause, found.next_step) == (True, "", "")


def test_b104_a_stall_that_ends_without_direct_copies_names_them_and_the_setting() -> None:
    found = proof(member=members.stalls_with_direct_copies, without={"NCCL_P2P_DISABLE": "1"})
    assert not found.works
    assert found.cause == (
        "direct copies between the GPUs stall: all ranks joined, and rank 0, 1 got no sum within 10.0 s; "
        "with NCCL_P2P_DISABLE=1 it works"
    )
    assert found.next_step.startswith("export NCCL_P2P_DISABLE=1")


@pytest.mark.parametrize(
    ("member", "cause"),
    [
        (members.rank_1_never_joins, "rank 1 never began to join within 10.0 s: it said nothing"),
        (
            members.rank_1_dies,
            "rank 1 never began to join within 10.0 s: RuntimeError: CUDA error: invalid device ordinal",
        ),
        (members.cannot_reach_each_other, "rank 0, 1 began and could not join the others within 10.0 s"),
        (members.rank_0_dies_after_joining, "rank 0 failed: NCCL WARN Cuda failure 'out of memory'"),
        (members.adds_wrongly, "rank 0 got the sum 4, not 3"),
    ],
)
def test_b104_what_stands_in_the_way_is_named_within_the_limit(member: Any, cause: str) -> None:
    began = time.monotonic()
    found = proof(member=member)
    assert time.monotonic() - began < 30
    assert not found.works
    assert found.cause == cause
    assert "NCCL_DEBUG=INFO" in found.next_step
