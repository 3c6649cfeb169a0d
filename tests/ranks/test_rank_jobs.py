"""Jobs of real processes: their results, and every way in which a rank ends before its work is done."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import rank_works

import rigwise
from rigwise.sources.process_tree import is_running
from rigwise.train.ranks.failure import RankEnded
from rigwise.train.ranks.guard import NoGuard
from rigwise.train.ranks.job import run_ranks

END_SECONDS = 30
"""Issue 4, section 8: a dead rank ends the job with its reason within 30 s."""


@pytest.fixture(autouse=True)
def nothing_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No process and no file of a job may be left."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    yield
    assert os.listdir(tmp_path) == []
    assert not [
        child for child in psutil.Process().children(recursive=True) if "rigwise.train.ranks" in str(child.cmdline())
    ]


def test_two_ranks_work_together() -> None:
    told: list[Any] = []
    assert run_ranks(rank_works.Sum(), 2, backend="gloo", told=told.append) == 3.0
    assert sorted(told) == ["rank 0 of 2", "rank 1 of 2"]


def test_a_trial_goes_on_only_where_it_goes_on_in_every_rank() -> None:
    assert run_ranks(rank_works.Agree(), 2, backend="gloo") == (True, False, 3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("who", "what", "kind", "words"),
    [
        (1, "raises", "raised", r"rank 1 of 2 \(cpu on .*\) raised ValueError: the loader met a picture of 0 bytes"),
        (1, "leaves", "ended", r"rank 1 of 2 .* ended by itself with exit code 3"),
        (1, "cannot be imported", "raised", r"rank 1 of 2 .* raised ModuleNotFoundError: No module named 'not_here'"),
    ],
)
def test_a_rank_that_fails_is_the_cause_not_those_that_missed_it(who: int, what: str, kind: str, words: str) -> None:
    with pytest.raises(RankEnded, match=words) as ended:
        run_ranks(rank_works.Loop(who, what), 2, backend="gloo")
    assert ended.value.cause is not None
    assert (ended.value.cause.rank, ended.value.cause.kind) == (who, kind)
    assert ended.value.exit_code == 1


def test_a_rank_that_hangs_ends_the_job_with_its_stack() -> None:
    hung_at: list[float] = []
    with pytest.raises(
        RankEnded, match=r"rank 1 of 2 .* hangs at `step 3`; others have waited for it for 1\d s"
    ) as ended:
        run_ranks(
            rank_works.Loop(1, "sleeps"), 2, backend="gloo", told=lambda message: hung_at.append(time.monotonic())
        )
    assert time.monotonic() - hung_at[-1] < END_SECONDS
    assert "time.sleep(10_000)" in ended.value.why


def test_the_others_are_ended_when_a_rank_is_killed_from_outside() -> None:
    pids: dict[int, int] = {}
    killed_at: list[float] = []

    def told(message: Any) -> None:
        _, rank, step, pid = message
        pids[rank] = pid
        if step == 5 and rank == 0:
            killed_at.append(time.monotonic())
            os.kill(pid, signal.SIGKILL)

    with pytest.raises(RankEnded, match=r"rank 0 of 2 .* was killed \(SIGKILL\)"):
        run_ranks(rank_works.Loop(-1, ""), 2, backend="gloo", told=told)
    assert time.monotonic() - killed_at[0] < END_SECONDS
    assert not any(map(is_running, pids.values()))


@pytest.mark.slow
def test_ctrl_c_ends_every_rank() -> None:
    pids: set[int] = set()

    def told(message: Any) -> None:
        pids.add(message[3])
        if message[2] == 5:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run_ranks(rank_works.Loop(-1, ""), 2, backend="gloo", told=told)
    assert not any(map(is_running, pids))


OWN_LOOP = """
import time, torch, torch.distributed as dist, rigwise
dist.init_process_group("gloo")
with rigwise.guard_ranks(limit_seconds=2.0) as guard:
    for step in range(1000):
        guard.mark(f"step {step}")
        if dist.get_rank() == 1 and step == 2:
            time.sleep(10_000)  # the loader
        dist.all_reduce(torch.ones(1))
"""


def test_a_loop_of_ones_own_is_guarded_too(tmp_path: Path) -> None:
    script = tmp_path / "loop.py"
    script.write_text(OWN_LOOP)
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(script)]
    began = time.monotonic()
    done = subprocess.run([sys.executable, *torchrun], capture_output=True, text=True, timeout=120, check=False)
    assert time.monotonic() - began < 60
    assert done.returncode == 1
    assert "rank 1 hangs at `step 2`; others have waited for it for 2 s" in done.stderr
    assert "time.sleep(10_000)  # the loader" in done.stderr
    script.unlink()


def test_a_process_on_its_own_is_not_watched() -> None:
    with rigwise.guard_ranks() as guard, guard.alone():
        guard.mark("step 1")
    assert isinstance(guard, NoGuard)
