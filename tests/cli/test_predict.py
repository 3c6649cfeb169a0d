"""`rigwise predict` as a user runs it: answers, exit codes, accuracy where folders tell it, and every bad input."""

import csv
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli.one_clear_error import assert_one_clear_error
from guards.own_files import ROOT

from rigwise.telemetry.reading import load_run
from rigwise.train.export.usage import USAGE

Run = Callable[..., Any]

WITHOUT = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {modules}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Refuse())
"""


@pytest.fixture(scope="session")
def answered(finished_run: tuple[Path, Path]) -> dict[str, Any]:
    """What `rigwise predict RUN DATA --json` prints, of the pictures the run was made with."""
    run, drawn = finished_run
    done = subprocess.run(
        [sys.executable, "-m", "rigwise", "predict", run, drawn, "--json", "--top", "3"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "opening the model\nlooking at pictures\n")
    return json.loads(done.stdout)


def top(report: dict[str, Any], path: Path) -> dict[str, float]:
    """Label -> probability of one picture."""
    (answer,) = [each for each in report["answers"] if each["path"] == str(path)]
    return {guess["label"]: guess["probability"] for guess in answer["top"]}


def test_the_answers_are_those_of_the_runs_own_review(
    answered: dict[str, Any], finished_run: tuple[Path, Path]
) -> None:
    """The review is of the split held back, as the recommended trial computed it, at its own precision."""
    run, drawn = finished_run
    within = 1e-5 if json.loads((run / "model" / "model.json").read_text())["precision"] == "fp32" else 0.05
    reviewed = load_run(run).predictions
    assert len(reviewed) > 3
    for picture in reviewed:
        found = top(answered, drawn / picture.path)
        assert found[picture.predicted] == pytest.approx(picture.probability, abs=within)
        assert found[picture.truth] == pytest.approx(picture.truth_probability, abs=within)


def test_folders_of_classes_give_accuracy_and_confusion(answered: dict[str, Any]) -> None:
    assert answered["schema"] == "rigwise.predict/1"
    correct = sum(each["label"] == Path(each["path"]).parent.name for each in answered["answers"])
    assert (answered["accuracy"]["correct"], answered["accuracy"]["total"]) == (correct, 36)
    assert [sum(row) for row in answered["confusion"]] == [12, 12, 12]
    assert sum(answered["confusion"][place][place] for place in range(3)) == correct


def test_a_copied_folder_a_list_and_bad_pictures_without_timm(
    rigwise: Run, finished_run: tuple[Path, Path], tmp_path: Path
) -> None:
    run, drawn = finished_run
    shutil.copytree(run / "model", tmp_path / "model")
    (tmp_path / "page.jpg").write_text("<html>")
    (tmp_path / "sitecustomize.py").write_text(WITHOUT.format(modules={"timm", "torchvision", "safetensors"}))
    wanted = [drawn / "bags" / "00.png", Path("page.jpg"), Path("gone.png"), drawn / "shoes" / "01.png"]
    done = rigwise(
        "predict", "model", "-", "--out", "answers.csv", "--device", "cpu",
        input="\n".join(map(str, wanted)),
        inside={"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT / "src")])},
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    said = " ".join(done.stdout.split())
    assert "page.jpg: an HTML page" in said
    assert "gone.png: cannot be read: No such file" in said
    assert "accuracy" not in said
    with (tmp_path / "answers.csv").open() as file:
        table = {row["path"]: row for row in csv.DictReader(file)}
    assert [path for path, row in table.items() if row["label"]] == [str(wanted[0]), str(wanted[3])]
    assert {path for path, row in table.items() if row["why_not"]} == {"page.jpg", "gone.png"}


def test_the_lines_of_the_card_work_without_rigwise(answered: dict[str, Any], finished_run: tuple[Path, Path]) -> None:
    """In a process that can import neither rigwise nor timm, run as they stand in model.json."""
    run, drawn = finished_run
    lines = "\n".join(json.loads((run / "model" / "model.json").read_text())["usage"])
    picture = drawn / "watches" / "03.png"
    program = WITHOUT.format(modules={"rigwise", "timm", "torchvision"}) + lines
    done = subprocess.run(
        [sys.executable, "-c", program, picture], cwd=run / "model", capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    label, probability = done.stdout.rsplit(maxsplit=1)
    known = top(answered, picture)
    assert known[label] == max(known.values()) == pytest.approx(float(probability), abs=1e-6)


def test_the_readme_shows_those_lines() -> None:
    assert f"```python\n{USAGE}```\n" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_run_and_its_page_name_the_command(rigwise: Run, finished_run: tuple[Path, Path]) -> None:
    run, _ = finished_run
    command = "rigwise predict run PICTURES"
    assert load_run(run).predict_command == command
    assert command in rigwise("report", run).stdout
    assert command in (run / "report.html").read_text(encoding="utf-8")
    assert json.loads(rigwise("report", run, "--json").stdout)["predict_command"] == command


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["nowhere", "pictures"], "no exported model"),
        (["pictures", "pictures"], "no exported model"),
        (["small.toml", "pictures"], "no exported model"),
        (["{run}", "nowhere.png"], "does not exist"),
        (["{run}", "empty"], "no pictures"),
        (["{run}", "-"], "no pictures"),
    ],
)
def test_bad_input_is_one_clear_error(
    rigwise: Run, finished_run: tuple[Path, Path], recipe: Path, pictures: Path, arguments: list[str], word: str
) -> None:
    (recipe.parent / "empty").mkdir()
    run, _ = finished_run
    assert_one_clear_error(rigwise("predict", *(each.format(run=run) for each in arguments)), word)


@pytest.mark.parametrize(("option", "value"), [("--top", "0"), ("--device", "tpu")])
def test_options_out_of_range_are_refused(rigwise: Run, option: str, value: str) -> None:
    done = rigwise("predict", "run", "pictures", option, value)
    assert (done.returncode, done.stdout) == (2, "")
    assert option in done.stderr


def test_a_run_of_an_older_rigwise_stays_readable(
    rigwise: Run, finished_run: tuple[Path, Path], tmp_path: Path
) -> None:
    """It has model.pt, and nothing about a model in its records."""
    older = shutil.copytree(finished_run[0], tmp_path / "older")
    shutil.rmtree(older / "model")
    (older / "model.pt").touch()
    with sqlite3.connect(older / "run.sqlite") as connection:
        connection.execute("DELETE FROM facts WHERE key IN ('model_note', 'predict_command')")
    assert "rigwise predict" not in rigwise("report", older).stdout
    assert_one_clear_error(rigwise("predict", older, tmp_path), "older rigwise")
