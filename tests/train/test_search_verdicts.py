"""What a search makes of the course of its probes: scripted ones, so that many limits are tried in a moment."""

from collections.abc import Callable
from math import ceil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rigwise.records.batch import BatchProbe
from rigwise.train.batch.breakdown import Prediction
from rigwise.train.batch.causes import Evidence, explain
from rigwise.train.batch.child import SHORT_STEPS
from rigwise.train.batch.find import agreed
from rigwise.train.batch.ranks import OneRank
from rigwise.train.batch.search import Effort, NothingFits, Search
from rigwise.train.batch.sizes import GAP_RATIO
from rigwise.train.batch.verdict import NoBatchHolds
from rigwise.units import GIB, MIB

SOAK = 60
Run = Callable[[int, int], BatchProbe]


def probe(batch_size: int, steps: int, dies_at: int | None, **fields: object) -> BatchProbe:
    """One that runs its steps, or fails after `dies_at` of them."""
    fails = dies_at is not None and dies_at < steps
    done = dies_at if fails and dies_at is not None else steps
    ended = "out_of_memory" if fails else "ran"
    known = {"phase": "soak" if done > SHORT_STEPS else "train", "seconds": 0.1, "text": "CUDA out of memory. " * fails}
    found = BatchProbe(batch_size=batch_size, ended=ended, steps=done, **(known | fields))
    return explain(found, Evidence()) if fails else found


def running(dies_at: Callable[[int], int | None]) -> Run:
    """Batch size to the number of steps after which it fails, or None."""
    return lambda size, steps: probe(size, steps, dies_at(size))


def search(run: Run, most: int = 1000, smallest: int = 1) -> Search:
    return Search(run, smallest, most, Effort(soak_steps=SOAK))


@settings(max_examples=200, deadline=None)
@given(limit=st.integers(1, 5000), first=st.integers(1, 5000), most=st.integers(1, 5000))
def test_any_limit_is_approached_within_an_eighth_from_any_start_and_never_passed(
    limit: int, first: int, most: int
) -> None:
    first = min(first, most)
    trying = search(running(lambda size: None if size <= limit else 0), most)
    found = trying.largest(first)
    best = min(limit, most)
    assert best / (1 + GAP_RATIO) - 1 <= found <= best
    assert max(each.steps for each in trying.probes if each.batch_size == found) == SOAK
    assert len(trying.probes) < 45


@settings(max_examples=100, deadline=None)
@given(limit=st.integers(0, 200), late=st.integers(0, 200), step=st.integers(2, SOAK - 1), first=st.integers(1, 256))
def test_what_fails_late_above_another_limit_is_found_by_soaks(limit: int, late: int, step: int, first: int) -> None:
    trying = search(running(lambda size: 0 if size > limit else step if size > late else None), 256)
    best = min(limit, late)
    if limit == 0:
        with pytest.raises(NothingFits):
            trying.largest(first)
        return
    if late == 0:
        with pytest.raises(NoBatchHolds) as caught:
            trying.largest(first)
        assert caught.value.cause == "leak"
        return
    assert best / (1 + GAP_RATIO) - 1 <= trying.largest(first) <= best


@settings(max_examples=100, deadline=None)
@given(sample=st.integers(100, 4000), limit=st.integers(1, 64))
def test_one_long_sample_is_met_by_the_size_that_is_returned(sample: int, limit: int) -> None:
    """It fits alone into batches up to `limit`; every size meets it at the step its number says."""
    trying = search(running(lambda size: None if size <= limit else ceil(sample / size) - 1), 64)
    found = trying.largest(64)
    assert found <= max(limit, 1) or found * max(each.steps for each in trying.probes) < sample


def test_b10_a_limit_that_moves_by_5_percent_from_probe_to_probe_still_gives_what_ran() -> None:
    moved = iter([1.0, 0.95, 1.05, 0.97, 1.02] * 20)

    def run(size: int, steps: int) -> BatchProbe:
        return probe(size, steps, None if size <= 100 * next(moved) else 0)

    trying = search(run)
    found = trying.largest(64)
    assert any(each.held and each.steps == SOAK for each in trying.probes if each.batch_size == found)
    assert not any(each.batch_size <= found for each in trying.probes if not each.held)


def test_memory_that_only_goes_for_every_37th_step_is_found_whatever_the_size() -> None:
    trying = search(running(lambda size: 36 if size > 16 else None), 128)
    assert trying.largest(64) == 16


def test_the_same_early_step_at_both_ends_is_a_leak_and_no_batch_is_too_big() -> None:
    trying = search(running(lambda size: 3))
    with pytest.raises(NoBatchHolds, match="memory runs out at step 4 whatever the batch"):
        trying.largest(64)
    assert [each.batch_size for each in trying.probes] == [64, 1]


@pytest.mark.parametrize(
    ("phase", "words", "next_step"),
    [
        ("validation", "the validation does not fit, even with training at batch 1", "validate in smaller batches"),
        ("checkpoint", "the checkpoint does not fit, even with training at batch 1", "map_location='cpu'"),
    ],
)
def test_what_does_not_fit_is_named_and_not_the_batch(phase: str, words: str, next_step: str) -> None:
    trying = search(lambda size, steps: probe(size, 6, 5, phase=phase))
    with pytest.raises(NoBatchHolds, match=words) as caught:
        agreed(trying, 8, Prediction(), OneRank())
    assert next_step in caught.value.next_step


def on_a_card_that_spills(size: int, steps: int, past: int = 64, times: float = 20.0) -> BatchProbe:
    """8 GiB are counted as free; what is past `past` samples lies in RAM, and is so many times slower."""
    seconds = 0.01 + 0.001 * size * (times if size > past else 1.0)
    return probe(
        size,
        steps,
        None,
        step_seconds=seconds,
        free_at_start_bytes=8 * GIB,
        need_bytes=size * 64 * MIB,
        total_bytes=None,
    )


def test_b87_a_cliff_in_the_time_of_a_sample_is_a_spill_though_memory_looks_free() -> None:
    trying = search(on_a_card_that_spills, 100)
    assert trying.largest(64) == 64
    spilled = [each for each in trying.probes if each.ended == "spilled"]
    assert spilled
    assert "a sample takes 17 times as long as in a smaller batch" in spilled[0].text


def test_a_slow_probe_that_is_quick_the_second_time_was_only_disturbed() -> None:
    disturbed = iter([True])

    def run(size: int, steps: int) -> BatchProbe:
        return on_a_card_that_spills(size, steps, 64 if size > 64 and next(disturbed, False) else 1000)

    assert search(run, 100).largest(64) == 100


def test_slower_samples_in_a_card_that_is_half_empty_are_no_spill() -> None:
    def run(size: int, steps: int) -> BatchProbe:
        return probe(size, steps, None, step_seconds=size**3 * 1e-4, free_at_start_bytes=99 * GIB, need_bytes=GIB)

    assert search(run, 100).largest(2) == 100
