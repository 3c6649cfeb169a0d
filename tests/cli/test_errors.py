"""One clear error each: what, why, next; a stable exit code; never a traceback."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli.one_clear_error import assert_one_clear_error

Run = Callable[..., Any]


def test_a_missing_source(rigwise: Run, tmp_path: Path) -> None:
    assert_one_clear_error(rigwise("check", "--from", tmp_path / "nothing"), "nothing")


def test_an_empty_source(rigwise: Run) -> None:
    assert_one_clear_error(rigwise("check", "--from", "-", input=""))


def test_an_unknown_check_names_the_nearest(rigwise: Run) -> None:
    assert_one_clear_error(rigwise("check", "--only", "gpu_losst"), "gpu_lost")


def test_train_without_data(rigwise: Run) -> None:
    assert_one_clear_error(rigwise("train"), "DATA is missing", "rigwise demo")


def test_missing_data(rigwise: Run, tmp_path: Path) -> None:
    assert_one_clear_error(rigwise("train", tmp_path / "absent"), "absent")


def test_one_class_only(rigwise: Run, pictures: Path, tmp_path: Path) -> None:
    for other in ("shoes", "watches"):
        (pictures / other).rename(tmp_path / other)
    assert_one_clear_error(rigwise("train", pictures), "bags")


def test_an_existing_run_folder_is_never_overwritten(
    rigwise: Run, pictures: Path, recipe: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "precious").write_text("mine")
    assert_one_clear_error(rigwise("train", pictures, "--recipe", recipe, "--out", run), "already in use")
    assert [path.name for path in run.iterdir()] == ["precious"]


def test_a_read_only_place_for_the_run(rigwise: Run, pictures: Path, recipe: Path) -> None:
    run = rigwise("train", pictures, "--recipe", recipe, "--out", "/proc/rigwise-run")
    assert run.returncode in (1, 2)
    assert "Traceback" not in run.stderr
    assert "/proc" in run.stderr


def test_all_faults_of_a_recipe_at_once(rigwise: Run, pictures: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "bad.toml"
    recipe.write_text("[training]\nstepz = 5\nbatch_size = 0\n[pictures]\nimage_size = 'big'\n")
    assert_one_clear_error(
        rigwise("train", pictures, "--recipe", recipe),
        "did you mean training.steps?",
        "training.batch_size",
        "image_size",
    )


def test_an_unknown_model_names_near_ones(rigwise: Run, pictures: Path) -> None:
    assert_one_clear_error(rigwise("train", pictures, "--model", "resnet500"), "resnet50")


def test_a_repeat_of_nothing(rigwise: Run, tmp_path: Path) -> None:
    assert_one_clear_error(rigwise("train", "--from", tmp_path), "not the folder of a run")


@pytest.mark.parametrize("option", ["--recipe", "--model"])
def test_a_repeat_takes_no_other_recipe(rigwise: Run, tmp_path: Path, option: str) -> None:
    assert_one_clear_error(rigwise("train", "--from", tmp_path, option, "x"), option)


def test_an_unknown_option_is_a_usage_error(rigwise: Run) -> None:
    run = rigwise("check", "--jsom")
    assert run.returncode == 2
    assert "Traceback" not in run.stderr
