"""Bad input through the real command: pictures, folders, names, recipes and runs that are not what they should be."""

import html
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli.one_clear_error import assert_one_clear_error
from PIL import Image
from train.bad_pictures import READABLE, UNREADABLE, make_class, write
from training_lab import small_recipe

from rigwise.telemetry.reading import load_run
from rigwise.train.recipe import write_recipe

Run = Callable[..., Any]


def no_folder(root: Path) -> Path:
    return root / "absent"


def too_long(root: Path) -> Path:
    return root / ("x" * 300)


def a_file(root: Path) -> Path:
    return write(root / "pictures.zip", b"PK")


def empty(root: Path) -> Path:
    (root / "empty").mkdir()
    return root / "empty"


def loose_pictures(root: Path) -> Path:
    make_class(root / "loose", range(3))
    return root / "loose"


def a_class_with_one_picture(root: Path) -> Path:
    make_class(root / "two" / "bags", range(5))
    make_class(root / "two" / "shoes", [9])
    return root / "two"


def a_tenth_is_bad(root: Path) -> Path:
    make_class(root / "bad" / "bags", range(5))
    make_class(root / "bad" / "shoes", range(10, 14))
    write(root / "bad" / "shoes" / "half.jpg", b"")
    return root / "bad"


@pytest.mark.parametrize("as_json", [(), ("--json",)], ids=["text", "json"])
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (no_folder, ["no folder", "absent"]),
        (too_long, ["cannot reach", "File name too long"]),
        (a_file, ["pictures.zip is not a folder"]),
        (empty, ["no class folders", "it is empty"]),
        (loose_pictures, ["no class folders", "pictures in the folder itself: 3"]),
        (a_class_with_one_picture, ["too few pictures", "shoes (1)"]),
        (a_tenth_is_bad, ["1 of 10 files", "at most 5.00 %", "shoes/half.jpg: empty file (0 bytes)"]),
    ],
)
def test_data_that_cannot_be_trained_on(
    make: Callable[[Path], Path], words: list[str], as_json: tuple[str, ...], rigwise: Run, tmp_path: Path
) -> None:
    assert_one_clear_error(rigwise("train", make(tmp_path), *as_json), *words)
    assert not (tmp_path / "runs").exists()


def test_pictures_of_every_kind_are_used_or_listed(rigwise: Run, pictures: Path, tmp_path: Path) -> None:
    for name, content in READABLE.items():
        write(pictures / "bags" / name, content())
    for name, (content, _) in UNREADABLE.items():
        write(pictures / "shoes" / name, content())
    Image.new("L", (8000, 5000), 77).save(pictures / "watches" / "40 megapixels.png")
    (pictures / "watches" / "loop").symlink_to(pictures)
    (pictures / "watches" / "itself.jpg").symlink_to("itself.jpg")
    os.mkfifo(pictures / "watches" / "pipe.jpg")
    recipe = write(tmp_path / "forgiving.toml", write_recipe(small_recipe(steps=1)).replace("0.05", "0.9").encode())
    run = rigwise("train", pictures, "--recipe", recipe, "--out", tmp_path / "run", "--json")
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["finished"]
    summary = load_run(tmp_path / "run").pictures
    assert summary is not None
    listed = {entry.path for entry in summary.bad}
    assert listed == {f"shoes/{name}" for name in UNREADABLE} | {
        f"watches/{name}" for name in ("loop", "itself.jpg", "pipe.jpg")
    }
    assert sum(counts["bags"] for counts in summary.counts.values()) == 12 + len(READABLE)
    page = html.unescape((tmp_path / "run" / "report.html").read_text())
    assert all(f"shoes/{name}" in page for name in UNREADABLE)


ODD_NAMES = [b"\xff\xfe", "naïve \U0001f600".encode(), b"new\nline", b"'quote\"`$(x)", b"-rf", b"{0}%s", b"[/red]"]
ODD_CLASSES = [b"cl\xffss", b"<b>bold</b>&amp;", b"-x", b"two\nlines", b"[red]{x}[/]"]


@pytest.fixture
def oddly_named(tmp_path: Path) -> Path:
    root = tmp_path / os.fsdecode(b"d\xe9ta \n<i>")
    for class_number, class_name in enumerate(ODD_CLASSES):
        for number, name in enumerate(ODD_NAMES):
            colour = (40 * class_number, 30 * number, 128)
            write(root / os.fsdecode(class_name) / os.fsdecode(name + b".png"), b"")
            Image.new("RGB", (40, 40), colour).save(root / os.fsdecode(class_name) / os.fsdecode(name + b".png"))
    return root


def test_names_of_any_bytes(rigwise: Run, oddly_named: Path, recipe: Path, tmp_path: Path) -> None:
    out = tmp_path / os.fsdecode(b"r\xfcn '[/]'\n<b>")
    run = rigwise("train", oddly_named, "--recipe", recipe, "--out", out)
    assert run.returncode == 0, run.stderr
    assert "35 pictures" in run.stdout
    page = (out / "report.html").read_text("utf-8")
    assert "<b>bold" not in page
    assert "&lt;b&gt;bold&lt;/b&gt;&amp;amp;" in page
    assert json.loads(rigwise("report", out, "--json").stdout)["finished"]
    ascii_only = rigwise("report", out, inside={"PYTHONIOENCODING": "ascii"})
    assert ascii_only.returncode == 0, ascii_only.stderr
    assert ascii_only.stdout.isascii()
    changed = oddly_named / os.fsdecode(ODD_CLASSES[4]) / "[/red].png"
    changed.write_bytes(changed.read_bytes() + b"\0")
    again = rigwise("train", "--from", out, "--out", tmp_path / "again")
    assert again.returncode == 1, again.stderr
    assert "[red]{x}[/]/[/red].png: its bytes changed" in again.stderr


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, ["Is a directory"]),
        (b"\x7fELF\x02\x01\xff", ["it is no text in UTF-8"]),
        ("[training]\nsteps = 5\n".encode("utf-16"), ["it is no text in UTF-8"]),
        (b"a = " + b"[" * 100_000, ["not valid TOML"]),
        (b"# " + b"x" * 2**21, ["larger than 1 MiB"]),
        (b"\xef\xbb\xbf[training]\r\nstepz = 5\r\n", ["did you mean training.steps?"]),
        (b"[trainings]\n[training]\nsteps = nan\nseed = -1\n", ["training?", "training.steps", "seed = -1"]),
    ],
    ids=["folder", "binary", "utf-16", "deep", "huge", "bom and crlf", "all faults"],
)
def test_recipes_that_cannot_be_used(
    content: bytes | None, words: list[str], rigwise: Run, pictures: Path, tmp_path: Path
) -> None:
    recipe = tmp_path if content is None else write(tmp_path / "recipe.toml", content)
    assert_one_clear_error(rigwise("train", pictures, "--recipe", recipe), "recipe", *words)


def test_a_model_that_takes_one_size_only_is_refused_before_a_run_begins(
    rigwise: Run, pictures: Path, tmp_path: Path
) -> None:
    recipe = write(tmp_path / "vit.toml", write_recipe(small_recipe(model="vit_tiny_patch16_224")).encode())
    run = rigwise("train", pictures, "--recipe", recipe, "--out", tmp_path / "run")
    assert_one_clear_error(run, "vit_tiny_patch16_224", "32 x 32", "image_size = 224")
    assert not (tmp_path / "run").exists()


def test_sixty_classes_of_one_picture_each_split_and_a_batch_larger_than_the_data(rigwise: Run, tmp_path: Path) -> None:
    for number in range(60):
        make_class(tmp_path / "data" / "train" / f"class{number:02}", [number])
        make_class(tmp_path / "data" / "val" / f"class{number:02}", [100 + number])
    recipe = write(tmp_path / "one.toml", write_recipe(small_recipe(steps=1, batch_size=64)).encode())
    run = rigwise("train", tmp_path / "data", "--recipe", recipe, "--out", tmp_path / "run", "--json")
    assert run.returncode == 0, run.stderr
    assert {trial["steps"] for trial in json.loads(run.stdout)["trials"] if not trial["not_run"]} == {1}


@pytest.mark.parametrize(
    "out", ["pictures/run", "pictures/bags/run", "small.toml/run", "small.toml", "pictures", "loop/x"]
)
def test_places_where_no_run_folder_can_be(
    out: str, rigwise: Run, pictures: Path, recipe: Path, tmp_path: Path
) -> None:
    (tmp_path / "loop").symlink_to("loop")
    before = sorted(tmp_path.rglob("*"))
    assert_one_clear_error(rigwise("train", pictures, "--recipe", recipe, "--out", tmp_path / out), out.split("/")[0])
    assert sorted(path for path in tmp_path.rglob("*") if "rigwise-on-" not in str(path)) == before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--pictures", "x" * 300], ["cannot write pictures", "File name too long"]),
        (["--pictures", "small.toml"], ["cannot put pictures into small.toml", "it is a file"]),
        (["--per-class", "0", "--label-noise", "2"], ["per_class is 0", "label_noise is 2.0"]),
    ],
)
def test_a_demo_that_cannot_be_drawn(options: list[str], words: list[str], rigwise: Run, recipe: Path) -> None:
    exit_code = 1 if "cannot write pictures" in words else 2
    assert_one_clear_error(rigwise("demo", "--json", *options), *words, exit_code=exit_code)


def test_the_default_place_among_the_classes_is_refused_too(rigwise: Run, pictures: Path, recipe: Path) -> None:
    assert_one_clear_error(rigwise("train", ".", "--recipe", recipe, cwd=pictures), "among the classes", "--out")


@pytest.fixture
def run_copy(finished_run: tuple[Path, Path], tmp_path: Path) -> Path:
    """A finished run of this test's own; its pictures are shared."""
    return Path(shutil.copytree(finished_run[0], tmp_path / "earlier"))


@pytest.fixture
def picture_copy(finished_run: tuple[Path, Path], tmp_path: Path) -> Path:
    """The pictures of the finished run, moved to this test's own folder."""
    return Path(shutil.copytree(finished_run[1], tmp_path / "moved"))


def test_a_repeat_on_moved_pictures_names_each_that_changed(
    rigwise: Run, finished_run: tuple[Path, Path], picture_copy: Path, tmp_path: Path
) -> None:
    (picture_copy / "bags" / "03.png").unlink()
    write(picture_copy / "shoes" / "03.png", READABLE["plain.jpg"]())
    for number in range(12):
        write(picture_copy / "shoes" / f"new{number:02}.gif", READABLE["animated.gif"]())
    run = rigwise("train", picture_copy, "--from", finished_run[0], "--out", tmp_path / "again", "--json")
    assert run.returncode == 1, run.stderr
    assert json.loads(run.stdout)["repeat_equal"] is False
    told = [line for line in run.stderr.splitlines() if ".png: " in line or ".gif: " in line]
    assert told[:2] == ["bags/03.png: missing or unreadable now", "shoes/03.png: its bytes changed"]
    assert told[2:] == [f"shoes/new{number:02}.gif: new" for number in range(8)]
    assert "and 4 more pictures" in run.stderr


def test_a_repeat_whose_pictures_moved_says_how_to_name_them(
    rigwise: Run, run_copy: Path, finished_run: tuple[Path, Path]
) -> None:
    ledger = run_copy / "pictures.tsv"
    ledger.write_text(ledger.read_text().replace(finished_run[1].name, "gone"))
    assert_one_clear_error(rigwise("train", "--from", run_copy), "no longer in", "gone", "rigwise train DATA --from")


def test_a_repeat_without_a_picture_to_validate_with(
    rigwise: Run, finished_run: tuple[Path, Path], picture_copy: Path
) -> None:
    for line in (finished_run[0] / "pictures.tsv").read_text().splitlines():
        if line.startswith("val\t"):
            (picture_copy / line.split("\t")[-1]).unlink()
    run = rigwise("train", picture_copy, "--from", finished_run[0])
    assert_one_clear_error(run, "none of its val pictures is left", "rigwise train DATA")


def break_split(run: Path) -> None:
    ledger = run / "pictures.tsv"
    ledger.write_text(ledger.read_text().replace("\ntrain\t", "\nbogus\t", 1))


def cut_ledger(run: Path) -> None:
    write(run / "pictures.tsv", b"# root\t/nowhere")


def recipe_is_a_folder(run: Path) -> None:
    (run / "recipe.toml").unlink()
    (run / "recipe.toml").mkdir()


def break_recipe(run: Path) -> None:
    write(run / "recipe.toml", b"[training")


def cut_database(run: Path) -> None:
    database = run / "run.sqlite"
    database.write_bytes(database.read_bytes()[:9000])


def foreign_database(run: Path) -> None:
    write(run / "run.sqlite", os.urandom(9000))


def no_database(run: Path) -> None:
    (run / "run.sqlite").unlink()


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (break_split, ["pictures.tsv", "'bogus' is no split"]),
        (cut_ledger, ["pictures.tsv", "missing or damaged"]),
        (recipe_is_a_folder, ["recipe.toml", "Is a directory"]),
        (break_recipe, ["recipe.toml", "not valid TOML"]),
        (cut_database, ["run.sqlite", "malformed"]),
        (foreign_database, ["run.sqlite", "not a database"]),
        (no_database, ["is not the folder of a run"]),
    ],
)
def test_a_damaged_run_is_neither_repeated_nor_reported(
    damage: Callable[[Path], None], words: list[str], rigwise: Run, run_copy: Path
) -> None:
    damage(run_copy)
    assert_one_clear_error(rigwise("train", "--from", run_copy), *words)
    if "pictures.tsv" not in words and damage is not break_recipe:  # a report needs neither
        assert_one_clear_error(rigwise("report", run_copy, "--json"), *words)
