import tomllib
from pathlib import Path

import pytest

from rigwise.errors import BadInput
from rigwise.train.recipe import parse_recipe, read_recipe, write_recipe
from rigwise.train.recipe_sections import Recipe


def faults_of(text: str) -> str:
    with pytest.raises(BadInput) as caught:
        parse_recipe(text, name="mine.toml")
    return caught.value.why


def test_an_empty_recipe_is_the_guided_experiment() -> None:
    recipe = parse_recipe("", name="empty")
    assert recipe == Recipe()
    assert (recipe.training.steps, recipe.training.batch_size, recipe.training.larger_batch_size) == (200, 32, 64)


def test_what_is_written_reads_back_equal() -> None:
    model = "[model]\nname = 'resnet50'\nweights = 'a \"quoted\" path\\\\x.pt'\n"
    text = "[training]\nsteps = 7\nlearning_rate = 3e-05\n" + model
    recipe = parse_recipe(text, name="mine")
    written = write_recipe(recipe)
    assert parse_recipe(written, name="written") == recipe
    assert tomllib.loads(written)["training"]["learning_rate"] == 3e-05


def test_an_unknown_key_names_the_nearest_valid_one() -> None:
    assert "training.batchsize: unknown key; did you mean training.batch_size?" in faults_of(
        "[training]\nbatchsize = 8\n"
    )


def test_an_unknown_section_names_the_nearest_valid_one() -> None:
    assert "cpuu: unknown key; did you mean cpu?" in faults_of("[cpuu]\nsteps = 8\n")


def test_a_key_like_nothing_lists_the_valid_ones() -> None:
    assert "valid keys are" in faults_of("[loader]\nqqqq = 8\n")


def test_all_faults_are_reported_at_once() -> None:
    why = faults_of(
        "[training]\nsteps = 0\nbatch_size = 'many'\nsede = 1\n[pictures]\nimage_size = 3\nval_ratio = nan\n"
    )
    for expected in (
        "training.steps",
        "training.batch_size",
        "training.sede",
        "pictures.image_size",
        "pictures.val_ratio",
    ):
        assert expected in why
    assert len(why.splitlines()) == 5


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("steps = 1.5", "steps"),
        ("steps = true", "steps"),
        ("steps = -3", "must be from 1"),
        ("learning_rate = inf", "learning_rate"),
        ("learning_rate = 0", "learning_rate"),
        ("seed = -1", "seed"),
    ],
)
def test_a_bad_value_is_named(line: str, expected: str) -> None:
    assert expected in faults_of(f"[training]\n{line}\n")


def test_a_whole_number_does_for_a_ratio() -> None:
    assert parse_recipe("[pictures]\nmax_bad_ratio = 1\n", name="x").pictures.max_bad_ratio == 1.0


def test_a_section_that_is_no_table_is_named() -> None:
    assert "[training] must be a table" in faults_of("training = 3\n")


def test_broken_toml_says_where() -> None:
    assert "line 1" in faults_of("[training\n")


def test_a_missing_file_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot read recipe"):
        read_recipe(tmp_path / "none.toml")


def test_a_folder_and_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path, binary):
        with pytest.raises(BadInput, match="cannot read recipe"):
            read_recipe(path)
