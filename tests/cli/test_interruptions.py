"""Ctrl-C, kill and kill -9 at any moment: one exit code, no traceback, nothing left running, what was measured kept."""

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cli.one_clear_error import assert_one_clear_error
from cli.started import Started
from train.bad_pictures import write

Run = Callable[..., Any]
Begin = Callable[[Path, Path], Started]

INTERRUPTED = 130


def test_ctrl_c_twice_and_kill_count_as_one_and_the_page_is_made(begin: Begin, endless: Path, tmp_path: Path) -> None:
    run = begin(endless, tmp_path / "run").until(lambda each: each.num_steps() > 3)
    ended = run.send(signal.SIGINT, signal.SIGINT, signal.SIGTERM, signal.SIGINT).ended()
    assert (ended.returncode, ended.stdout) == (INTERRUPTED, "")
    assert ended.stderr.splitlines()[-3:] == [
        f"what was measured is in {run.out}/report.html",
        f"go on with it: rigwise train --resume {run.out}",
        "interrupted",
    ]
    assert "cpu fp32" in (run.out / "report.html").read_text()


def test_ctrl_c_while_pictures_are_read_leaves_nothing(begin: Begin, endless: Path, tmp_path: Path) -> None:
    run = begin(endless, tmp_path / "run").until(lambda each: "reading pictures" in each.said)
    ended = run.send(signal.SIGINT).ended()
    assert (ended.returncode, ended.stderr) == (INTERRUPTED, "reading pictures\ninterrupted\n")
    assert not run.out.exists()


def test_ctrl_c_before_the_page_is_written(begin: Begin, recipe: Path, tmp_path: Path) -> None:
    run = begin(recipe, tmp_path / "run").until(lambda each: (each.out / "model").exists())
    ended = run.send(signal.SIGINT).ended()
    assert ended.returncode == INTERRUPTED
    assert "Traceback" not in ended.stderr
    assert (run.out / "report.html").exists()


def test_ctrl_c_while_rigwise_is_still_being_imported(rigwise: Run, tmp_path: Path) -> None:
    write(tmp_path / "early" / "typer.py", b"raise KeyboardInterrupt\n")
    run = rigwise("check", inside={"PYTHONPATH": str(tmp_path / "early")})
    assert (run.returncode, run.stdout, run.stderr) == (INTERRUPTED, "", "")


def test_kill_nine_while_the_rig_is_noted(begin: Begin, rigwise: Run, endless: Path, tmp_path: Path) -> None:
    run = begin(endless, tmp_path / "run").until(lambda each: "noting the rig" in each.said)
    run.process.kill()
    run.process.communicate()
    reported = rigwise("report", run.out, "--json")
    assert reported.returncode == 0, reported.stderr
    assert json.loads(reported.stdout)["model"] == "test_efficientnet.r160_in1k"
    assert_one_clear_error(rigwise("check", "--from", run.out), "stopped before anything of its machine")
