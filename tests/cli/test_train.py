"""`rigwise train` as a user runs it: a run folder, its repeat, and what an interruption leaves."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

Run = Callable[..., Any]


@pytest.fixture
def finished(rigwise: Run, pictures: Path, recipe: Path, tmp_path: Path) -> Path:
    run = rigwise("train", pictures, "--recipe", recipe, "--out", tmp_path / "first")
    assert run.returncode == 0, run.stderr
    assert "cpu bf16" in run.stdout
    assert "not run" in run.stdout
    assert "report.html" in run.stdout
    return tmp_path / "first"


def losses(run: Path) -> list[tuple[str, int, float]]:
    with sqlite3.connect(run / "run.sqlite") as connection:
        return connection.execute("SELECT trial, step, loss FROM steps ORDER BY trial, step").fetchall()


def test_the_run_folder_holds_what_repeats_it(finished: Path) -> None:
    assert {path.name for path in finished.iterdir()} >= {
        "manifest.json", "evidence", "run.sqlite", "report.html", "recipe.toml", "lock.txt", "pictures.tsv", "model"
    }  # fmt: skip
    assert "torch==" in (finished / "lock.txt").read_text()
    assert json.loads((finished / "manifest.json").read_text())["kind"] == "train"


def test_a_repeat_is_bit_equal_twice(rigwise: Run, finished: Path, tmp_path: Path) -> None:
    for name in ("second", "third"):
        run = rigwise("train", "--from", finished, "--out", tmp_path / name)
        assert run.returncode == 0, run.stderr
        assert "bit-equal" in run.stdout
        assert losses(tmp_path / name) == losses(finished)
    assert len({loss for _, _, loss in losses(finished)}) > 6


def test_one_changed_byte_is_noticed_and_said(rigwise: Run, finished: Path, pictures: Path, tmp_path: Path) -> None:
    changed = pictures / "bags" / "03.png"
    # A byte after the end of the picture: it looks the same, and its hash does not.
    changed.write_bytes(changed.read_bytes() + b"\0")
    run = rigwise("train", "--from", finished, "--out", tmp_path / "second")
    assert run.returncode == 1
    assert "bags/03.png: its bytes changed" in run.stderr
    assert "bags/03.png: its bytes changed" in run.stdout


def test_the_run_can_be_checked_and_reported_again(rigwise: Run, finished: Path) -> None:
    checked = rigwise("check", "--json", "--from", finished, machine="healthy_rtx4090")
    assert json.loads(checked.stdout)["findings"][0]["check"] == "gpu_absent"
    (finished / "report.html").unlink()
    assert rigwise("report", finished).returncode == 0
    assert (finished / "report.html").stat().st_size > 100_000


def test_bad_pictures_are_skipped_listed_and_counted(
    rigwise: Run, pictures: Path, recipe: Path, tmp_path: Path
) -> None:
    recipe.write_text(recipe.read_text().replace("max_bad_ratio = 0.05", "max_bad_ratio = 0.2"))
    (pictures / "bags" / "empty.jpg").touch()
    (pictures / "bags" / "page.jpg").write_text("<html>not a picture</html>")
    run = rigwise("train", pictures, "--recipe", recipe, "--out", tmp_path / "run", "--json")
    assert run.returncode == 0, run.stderr
    shown = rigwise("report", tmp_path / "run")
    assert "2 skipped" in shown.stdout
    page = (tmp_path / "run" / "report.html").read_text()
    assert "bags/empty.jpg" in page
    assert "bags/page.jpg" in page


def started(pictures: Path, recipe: Path, run: Path, environment: dict[str, str]) -> subprocess.Popen[str]:
    """A training process that has taken its first steps."""
    slow = recipe.read_text().replace("steps = 6", "steps = 100000")
    recipe.write_text(slow)
    process = subprocess.Popen(
        [sys.executable, "-m", "rigwise", "train", str(pictures), "--recipe", str(recipe), "--out", str(run)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if len(losses(run)) > 5:
                return process
        except sqlite3.Error:
            pass
        assert process.poll() is None, process.communicate()
        time.sleep(0.1)
    process.kill()
    raise AssertionError("no steps within 60 s")


def test_after_kill_nine_the_report_can_be_built(
    rigwise: Run, fake_machine: Callable[[str], dict[str, str]], pictures: Path, recipe: Path, tmp_path: Path
) -> None:
    process = started(pictures, recipe, tmp_path / "run", fake_machine("healthy_rtx4090"))
    process.kill()
    process.communicate()
    shown = rigwise("report", tmp_path / "run")
    assert shown.returncode == 0, shown.stderr
    assert "interrupted" in shown.stdout
    assert "cpu fp32" in (tmp_path / "run" / "report.html").read_text()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted_it_leaves_a_page_and_no_children(
    how: signal.Signals,
    fake_machine: Callable[[str], dict[str, str]],
    pictures: Path,
    recipe: Path,
    tmp_path: Path,
) -> None:
    process = started(pictures, recipe, tmp_path / "run", fake_machine("healthy_rtx4090"))
    os.kill(process.pid, how)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in said
    assert "interrupted" in said
    assert (tmp_path / "run" / "report.html").exists()
    assert not [path for path in (tmp_path / "run").iterdir() if "unfinished" in path.name]


def test_a_picture_that_looks_like_another_format_is_fine(
    rigwise: Run, pictures: Path, recipe: Path, tmp_path: Path
) -> None:
    Image.new("CMYK", (40, 60), (0, 200, 200, 0)).save(pictures / "bags" / "cmyk.jpg", "JPEG")
    Image.new("I;16", (40, 60), 40_000).save(pictures / "shoes" / "deep.png")
    run = rigwise("train", pictures, "--recipe", recipe, "--out", tmp_path / "run")
    assert run.returncode == 0, run.stderr
    assert "skipped" not in run.stdout


def test_peaks_knobs_and_the_learning_rate_reach_json_page_and_recipe(
    rigwise: Run, pictures: Path, recipe: Path, tmp_path: Path
) -> None:
    asked = recipe.read_text().replace("label_smoothing = 0.0", "label_smoothing = 0.1")
    recipe.write_text(asked.replace('precision = "auto"', 'precision = "fp32"'))
    run = rigwise("train", pictures, "--recipe", recipe, "--out", tmp_path / "run", "--find-lr", "--json")
    assert run.returncode == 0, run.stderr
    printed = json.loads(run.stdout)
    assert [one["name"] for one in printed["knobs"]["knobs"]] == ["label_smoothing = 0.1", "precision"]
    (peak,) = printed["knobs"]["peaks"]
    assert (peak["trial"], peak["why_not"]) == ("cpu fp32", "")
    assert peak["predicted"]["activations_bytes"] > 0
    found = printed["lr_search"]
    assert found["points"]
    kept = tomllib.loads((tmp_path / "run" / "recipe.toml").read_text())["training"]["learning_rate"]
    assert kept == pytest.approx(found["suggestion"] or 1e-3, rel=0.06)
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert 'id="memory"' in page
    assert 'id="learning-rate-curve"' in page


def test_ceilings_reach_terminal_json_and_page(rigwise: Run, pictures: Path, recipe: Path, tmp_path: Path) -> None:
    run = rigwise("train", pictures, "--recipe", recipe, "--out", tmp_path / "run", "--ceilings", "--json")
    assert run.returncode == 0, run.stderr
    printed = json.loads(run.stdout)["ceilings"]
    assert printed["actual"]["median"] > 0
    assert {one["name"] for one in printed["ceilings"]} == {"loader", "transfer", "compute"}
    assert 'id="ceilings"' in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    again = rigwise("report", tmp_path / "run")
    assert "computing alone: " in again.stdout
