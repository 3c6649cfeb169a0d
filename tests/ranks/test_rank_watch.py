"""Which rank hangs, told from where the ranks are; and which failure came first, told from all of them."""

import signal
from itertools import chain

import msgspec
import pytest

from rigwise.train.ranks.failure import Failed, first_cause, rank_words
from rigwise.train.ranks.rows import Rows
from rigwise.train.ranks.watch import HUNG_SECONDS, STALL_SECONDS, Beat, Hang, Watch

AHEAD = Beat(8, 0, "exchanging gradients", 0.2, 11, "rig")
BEHIND = Beat(7, 0, "loading the batch of step 4", 0.2, 12, "rig")


def seen(watch: Watch, *beats: Beat | None, at: float) -> Hang | None:
    return watch.see({rank: beat for rank, beat in enumerate(beats) if beat is not None}, at)


def test_the_rank_that_others_wait_for_hangs() -> None:
    watch = Watch(3)
    assert seen(watch, AHEAD, BEHIND, AHEAD, at=0.0) is None
    assert seen(watch, AHEAD, BEHIND, AHEAD, at=HUNG_SECONDS) is None
    hang = seen(watch, AHEAD, BEHIND, AHEAD, at=HUNG_SECONDS + 0.5)
    assert hang is not None
    assert (hang.rank, hang.place, hang.all_stand) == (1, BEHIND.place, False)


def test_at_the_same_place_the_one_that_does_not_wait_hangs() -> None:
    watch, waiting = Watch(2), msgspec.structs.replace(BEHIND, waits=True)
    assert seen(watch, waiting, BEHIND, at=0.0) is None
    hang = seen(watch, waiting, BEHIND, at=HUNG_SECONDS + 1)
    assert hang is not None
    assert hang.rank == 1


def test_a_rank_that_never_arrives_hangs() -> None:
    watch = Watch(2)
    assert seen(watch, AHEAD, None, at=0.0) is None
    hang = seen(watch, AHEAD, None, at=HUNG_SECONDS + 1)
    assert hang is not None
    assert (hang.rank, hang.place) == (1, "")


def test_a_slow_rank_may_take_as_much_longer_as_the_others_took() -> None:
    watch, slow = Watch(2), msgspec.structs.replace(AHEAD, last_seconds=60.0)
    assert seen(watch, slow, BEHIND, at=0.0) is None
    assert seen(watch, slow, BEHIND, at=HUNG_SECONDS + 59.0) is None
    assert seen(watch, slow, BEHIND, at=HUNG_SECONDS + 61.0) is not None


@pytest.mark.parametrize("field", ["signs", "passed"])
def test_whoever_goes_on_does_not_hang(field: str) -> None:
    watch, beat = Watch(2), BEHIND
    for second in range(100):
        ahead = msgspec.structs.replace(AHEAD, passed=200)
        assert seen(watch, ahead, beat, at=float(second)) is None
        if second % 10 == 0:
            beat = msgspec.structs.replace(beat, **{field: getattr(beat, field) + 1})


def test_a_rank_that_saves_alone_may_take_minutes() -> None:
    watch, saving = Watch(2), msgspec.structs.replace(BEHIND, alone=True)
    assert seen(watch, saving, AHEAD, at=0.0) is None
    assert seen(watch, saving, AHEAD, at=STALL_SECONDS) is None
    assert seen(watch, saving, AHEAD, at=STALL_SECONDS + 1) is not None


def test_who_has_left_waits_for_nobody() -> None:
    watch, left = Watch(2), msgspec.structs.replace(AHEAD, ended=True)
    assert seen(watch, left, BEHIND, at=0.0) is None
    assert seen(watch, left, BEHIND, at=HUNG_SECONDS + 1) is None


def test_where_all_stand_alike_they_may_be_compiling() -> None:
    watch = Watch(2)
    assert seen(watch, AHEAD, AHEAD, at=0.0) is None
    assert seen(watch, AHEAD, AHEAD, at=STALL_SECONDS) is None
    hang = seen(watch, AHEAD, AHEAD, at=STALL_SECONDS + 1)
    assert hang is not None
    assert hang.all_stand


def failed(rank: int, at: float, text: str, kind: str = "raised") -> Failed:
    return msgspec.convert({"rank": rank, "at": at, "kind": kind, "text": text, "trace": "a trace"}, Failed)


MISSED = "RuntimeError: [gloo/transport/tcp/pair.cc:547] Connection closed by peer [127.0.0.1]:3409"
NCCL = (
    "torch.distributed.DistBackendError: NCCL error ... ncclRemoteError: A call failed possibly due to a network error"
)


@pytest.mark.parametrize(
    ("told", "exit_codes", "rank", "words"),
    [
        ([failed(0, 1.0, MISSED), failed(1, 2.0, "ValueError: no")], {0: 1, 1: 1}, 1, "raised ValueError: no"),
        ([failed(0, 3.0, "KeyError: 'a'"), failed(1, 2.0, "ValueError: no")], {0: 1, 1: 1}, 1, "raised ValueError: no"),
        ([failed(0, 1.0, MISSED)], {0: 1, 1: -signal.SIGKILL}, 1, "was killed (SIGKILL)"),
        ([failed(0, 1.0, NCCL)], {0: 1, 1: -signal.SIGSEGV}, 1, "was ended by a signal (SIGSEGV)"),
        ([], {0: -signal.SIGTERM, 1: 3}, 1, "ended by itself with exit code 3"),
        ([failed(0, 2.0, MISSED), failed(1, 1.0, NCCL)], {0: 1, 1: 1}, 1, "raised torch.distributed.DistBackendError"),
        ([failed(1, 9.0, "hangs at `step 3`", "hung")], {0: 124, 1: -9}, 1, "hangs at `step 3`"),
        ([], {0: -signal.SIGTERM}, 0, "was ended by a signal (SIGTERM)"),
    ],
)
def test_the_first_cause_comes_before_what_others_died_of(
    told: list[Failed], exit_codes: dict[int, int], rank: int, words: str
) -> None:
    cause = first_cause(told, exit_codes, {0: "", 1: "its last line"})
    assert cause is not None
    assert cause.rank == rank
    assert words in rank_words(cause, 2, "nccl")
    assert f"rank {rank} of 2 (cuda:{rank} on " in rank_words(cause, 2, "nccl")


def test_nothing_failed() -> None:
    assert first_cause([], {}, {}) is None


@pytest.mark.parametrize(("num_samples", "num_ranks"), [(9, 2), (8, 3), (2, 2), (1, 4), (0, 2), (64, 8)])
def test_every_row_is_the_one_of_exactly_one_rank(num_samples: int, num_ranks: int) -> None:
    rows = [list(range(num_samples))[Rows(rank, num_ranks).of(num_samples)] for rank in range(num_ranks)]
    assert [*chain.from_iterable(rows)] == list(range(num_samples))
    assert max(map(len, rows)) - min(map(len, rows)) <= 1
    assert Rows(0, num_ranks).most(num_samples) == max(map(len, rows))
