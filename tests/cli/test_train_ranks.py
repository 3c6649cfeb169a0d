"""`rigwise train --ranks 2` as people meet it: a rank that dies, Ctrl-C, their own torchrun; nothing is left."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from cli.one_clear_error import assert_one_clear_error
from cli.started import Started

from rigwise.telemetry.reading import load_run

Begin = Callable[..., Started]
Run = Callable[..., Any]


def in_ranks(begin: Begin, recipe: Path, place: Path) -> Started:
    """`rigwise train --ranks 2` on the pictures of the test, until a few steps are recorded."""
    out = place / "run"
    train = [str(place / "pictures"), "--recipe", str(recipe), "--out", str(out), "--ranks", "2"]
    return begin(recipe, out, *train).until(lambda each: each.num_steps() > 3, limit_seconds=180)


def rank(run: Started, number: int) -> psutil.Process:
    """The process of a rank, once it is there."""
    members = [
        child
        for child in psutil.Process(run.process.pid).children(recursive=True)
        if "rigwise.train.ranks.member" in child.cmdline() and child.environ().get("RANK") == str(number)
    ]
    assert members, run.said
    return members[0]


def test_a_killed_rank_ends_the_command_with_its_reason(begin: Begin, endless: Path, tmp_path: Path) -> None:
    run = in_ranks(begin, endless, tmp_path)
    rank(run, 1).send_signal(signal.SIGKILL)
    killed_at = time.monotonic()
    ended = run.ended()
    assert time.monotonic() - killed_at < 30
    assert ended.returncode == 1
    assert "error: rank 1 of 2 (cpu on " in ended.stderr
    assert "was killed (SIGKILL)" in ended.stderr
    assert "Traceback" not in ended.stderr
    read = load_run(run.out)
    assert "rank 1 of 2" in str(read.trials[-1].not_run)
    assert len(read.steps) > 3
    assert "rank 1 of 2" in (run.out / "report.html").read_text()


@pytest.mark.slow
def test_ctrl_c_ends_every_rank(begin: Begin, endless: Path, tmp_path: Path) -> None:
    run = in_ranks(begin, endless, tmp_path)
    ended = run.send(signal.SIGINT).ended()
    assert ended.returncode == 130
    assert ended.stderr.splitlines()[-1] == "interrupted"


@pytest.mark.slow
def test_kill_nine_of_the_command_leaves_no_rank(begin: Begin, endless: Path, tmp_path: Path) -> None:
    run = in_ranks(begin, endless, tmp_path)
    children = psutil.Process(run.process.pid).children(recursive=True)
    run.process.kill()
    run.process.communicate()
    _, alive = psutil.wait_procs(children, timeout=10)
    assert not [child for child in alive if child.status() != psutil.STATUS_ZOMBIE]
    assert load_run(run.out).finished is False


def test_what_cannot_work_is_refused(rigwise: Run, pictures: Path, recipe: Path, tmp_path: Path) -> None:
    train = ("train", pictures, "--recipe", recipe, "--out", tmp_path / "run")
    assert_one_clear_error(rigwise(*train, "--ranks", "0"), "PyTorch sees no GPU")
    assert_one_clear_error(rigwise(*train, "--ranks", "5"), "a batch of 8 is too small for 5 ranks")
    assert_one_clear_error(rigwise(*train, "--ranks", "2", "--ceilings"), "--ranks cannot be combined with --ceilings")
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_their_own_torchrun_starts_the_same(
    fake_machine: Callable[[str], dict[str, str]], pictures: Path, recipe: Path, tmp_path: Path
) -> None:
    recipe.write_text(recipe.read_text().replace("steps = 6", "steps = 2"))
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = ["-m", "rigwise", "train", str(pictures), "--recipe", str(recipe), "--out", "run"]
    done = subprocess.run(
        [sys.executable, *torchrun, *command],
        env=fake_machine("no_gpu"),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [trial.num_ranks for trial in load_run(tmp_path / "run").trials if trial.steps > 1] == [2, 1, 2]
