"""`rigwise train --resume`: a run cut short by kill -9 and by Ctrl-C ends as one that was not."""

import os
import shutil
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from cli.one_clear_error import assert_one_clear_error
from cli.started import Started
from safetensors.torch import load_file

from rigwise.records.run import RunRecord
from rigwise.telemetry.reading import load_run
from rigwise.train.checkpoint.run_lock import RunLock

Run = Callable[..., Any]
Begin = Callable[..., Started]


def same_model(one: Path, other: Path) -> bool:
    first, second = (load_file(run / "model" / "weights.safetensors") for run in (one, other))
    return all(torch.equal(value, second[key]) for key, value in first.items())


def test_killed_then_interrupted_it_ends_as_a_run_that_was_not(
    begin: Begin, rigwise: Run, finished_run: tuple[Path, Path], recipe: Path, tmp_path: Path
) -> None:
    out, (whole, _) = tmp_path / "run", finished_run
    run = begin(recipe, out).until(lambda each: each.num_steps() > 1)
    run.process.kill()
    run.process.communicate()
    assert not load_run(out).finished
    again = begin(recipe, out, "--resume", str(out)).until(lambda each: each.num_steps() > 6).send(signal.SIGINT)
    assert again.ended().returncode == 130
    assert f"rigwise train --resume {out}" in again.said
    assert "rigwise train --resume" in (out / "report.html").read_text()
    shown = rigwise("train", "--resume", out)
    assert shown.returncode == 0, shown.stderr
    assert "resumed" in shown.stdout
    before, after = load_run(whole), load_run(out)
    assert losses(after) == losses(before)
    assert [row.name for row in after.trials] == [row.name for row in before.trials]
    assert after.audit is not None
    assert after.audit.counterfactual is not None
    assert before.recommendation is not None
    assert after.recommendation is not None
    if after.recommendation.trial == before.recommendation.trial:  # speeds decide between two of equal accuracy
        assert after.confusion == before.confusion
        assert [each.path for each in after.predictions] == [each.path for each in before.predictions]
        assert same_model(whole, out)
    assert not (out / "checkpoints").exists()


def losses(run: RunRecord) -> list[tuple[str, int, float]]:
    return [(step.trial, step.step, step.loss) for step in run.steps]


def test_a_finished_run_is_shown_and_nothing_is_done(
    rigwise: Run, finished_run: tuple[Path, Path], tmp_path: Path
) -> None:
    run = shutil.copytree(finished_run[0], tmp_path / "run")
    before = (run / "model" / "weights.safetensors").stat().st_mtime_ns
    shown = rigwise("train", "--resume", run)
    assert shown.returncode == 0
    assert f"{run} is finished: nothing is left to resume" in shown.stderr
    assert "cpu fp32" in shown.stdout
    assert (run / "model" / "weights.safetensors").stat().st_mtime_ns == before


def unfinished(finished: Path, run: Path, *forgotten: str) -> Path:
    """A copy of a run that is said not to have finished, without these facts."""
    shutil.copytree(finished, run)
    with sqlite3.connect(run / "run.sqlite") as connection:
        for key in ("finished", *forgotten):
            connection.execute("DELETE FROM facts WHERE key = ?", (key,))
    return run


def test_what_cannot_be_resumed_is_one_clear_error(
    rigwise: Run, finished_run: tuple[Path, Path], tmp_path: Path
) -> None:
    finished, pictures = finished_run
    older = unfinished(finished, tmp_path / "older", "resume_command")
    assert_one_clear_error(rigwise("train", "--resume", older), "keeps no checkpoints", f"rigwise train --from {older}")
    assert_one_clear_error(rigwise("train", "--resume", tmp_path), "is not the folder of a run")
    assert_one_clear_error(
        rigwise("train", "--resume", older, "--out", tmp_path / "new"), "--resume cannot be combined with --out"
    )
    run = unfinished(finished, tmp_path / "run")
    changed = shutil.copytree(pictures, tmp_path / "changed")
    with (changed / "bags" / "00.png").open("ab") as picture:
        picture.write(b"1")
    assert_one_clear_error(
        rigwise("train", changed, "--resume", run), "its pictures are not what they were", "bags/00.png"
    )


def test_a_run_in_use_or_read_only_is_refused(rigwise: Run, finished_run: tuple[Path, Path], tmp_path: Path) -> None:
    run = unfinished(finished_run[0], tmp_path / "run")
    with RunLock(run):
        assert_one_clear_error(rigwise("train", "--resume", run), "is in use", f"process {os.getpid()}")
    (run / "run.lock").unlink()
    (run / "run.lock").mkdir()  # nothing can be written there, not even by root
    assert_one_clear_error(rigwise("train", "--resume", run), "cannot write to", exit_code=1)
