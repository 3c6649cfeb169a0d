"""Ranks that must use one batch size: the smallest, agreed in time, or an error that says who is missing."""

import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import batch_ranks
import pytest

from rigwise.records.batch import BatchProbe
from rigwise.sources.children import run_in_child
from rigwise.train.batch.breakdown import Prediction
from rigwise.train.batch.child import PRELOADED
from rigwise.train.batch.find import agreed
from rigwise.train.batch.search import Effort, Search
from rigwise.train.batch.verdict import NoBatchHolds


class OtherRank:
    """A job of two ranks of which the other one answers these sizes."""

    def __init__(self, *answers: int) -> None:
        self.heard: list[int] = []
        self._answers: Iterator[int] = iter(answers)

    def smallest_and_largest(self, size: int) -> tuple[int, int]:
        self.heard.append(size)
        other = next(self._answers)
        return min(size, other), max(size, other)


def search_up_to(limit: int) -> Search:
    def run(batch_size: int, num_steps: int) -> BatchProbe:
        held = batch_size <= limit
        return BatchProbe(
            batch_size=batch_size,
            ended="ran" if held else "out_of_memory",
            phase="soak" if held else "train",
            steps=num_steps if held else 0,
            seconds=0.0,
            cause="" if held else "too_big",
        )

    return Search(run, 1, 64, Effort(soak_steps=20))


def test_b24_the_smaller_size_of_two_ranks_is_soaked_here_too() -> None:
    search, job = search_up_to(64), OtherRank(24, 24)
    assert agreed(search, 64, Prediction(), job) == 24
    assert job.heard == [64, 24]
    assert (search.probes[-1].batch_size, search.probes[-1].steps) == (24, 20)


def test_b24_a_rank_on_which_nothing_fits_tells_the_others_before_it_ends() -> None:
    job = OtherRank(64)
    with pytest.raises(NoBatchHolds, match="batch 1 does not fit"):
        agreed(search_up_to(0), 4, Prediction(), job)
    assert job.heard == [0]
    with pytest.raises(NoBatchHolds, match="another rank found no batch size that holds"):
        agreed(search_up_to(64), 64, Prediction(), OtherRank(0))


def run_two(work: Callable[..., None], folder: str) -> list[list[object]]:
    told: list[list[object]] = [[], []]
    waiting = [
        threading.Thread(
            target=run_in_child,
            args=(partial(work, rank, folder),),
            kwargs={"silence_seconds": 60.0, "told": told[rank].append, "preload": PRELOADED},
        )
        for rank in range(2)
    ]
    for each in waiting:
        each.start()
    for each in waiting:
        each.join(60)
    return told


def test_b24_two_gloo_ranks_agree_on_the_smaller_size(tmp_path: Path) -> None:
    assert run_two(batch_ranks.agree, f"{tmp_path}/store") == [[(24, 48)], [(24, 48)]]


@pytest.mark.parametrize("how", ["dies", "sleeps"])
def test_b24_a_rank_that_is_missing_ends_the_others_wait(tmp_path: Path, how: str) -> None:
    began = time.monotonic()
    told = run_two(partial(batch_ranks.miss, how), f"{tmp_path}/store")
    assert time.monotonic() - began < 30
    assert "not every rank agreed on a batch size within" in str(told[0][0])


def test_b04_out_of_memory_on_one_of_several_ranks_is_never_gone_on_from(tmp_path: Path) -> None:
    """The others wait in the middle of a step: a smaller micro-batch on one rank alone would part them."""
    assert run_two(batch_ranks.run_out, f"{tmp_path}/store") == [[("raised", None, True)], [("stepped", None, False)]]
