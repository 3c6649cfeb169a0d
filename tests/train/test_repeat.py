import math
from pathlib import Path

import pytest

from rigwise.errors import BadInput
from rigwise.records.run import PictureSummary, Step
from rigwise.train.pictures.picture_ledger import PictureLedger, changes, picture_lines, read_picture_lines, same_split
from rigwise.train.pictures.picture_set import Picture, PictureSet
from rigwise.train.recipe_sections import Recipe
from rigwise.train.repeat import Earlier, RepeatNote, compare_losses, repeat_note


def steps(trial: str, *losses: float) -> list[Step]:
    return [
        Step(trial=trial, step=number, at=number, step_seconds=1, data_seconds=0, loss=loss)
        for number, loss in enumerate(losses, start=1)
    ]


def test_equal_losses_are_said_to_be_bit_equal() -> None:
    equal, sentence = compare_losses(steps("fp32", 1.5, 0.25), steps("fp32", 1.5, 0.25))
    assert equal
    assert "all 2 losses are bit-equal" in sentence


def test_the_last_bit_counts() -> None:
    equal, sentence = compare_losses(steps("fp32", 1.5, 0.25), steps("fp32", 1.5, math.nextafter(0.25, 1)))
    assert not equal
    assert "from step 2 on" in sentence


def test_nan_equals_nan() -> None:
    assert compare_losses(steps("fp32", math.nan), steps("fp32", math.nan))[0]


def test_fewer_steps_are_not_equal() -> None:
    equal, sentence = compare_losses(steps("fp32", 1.5, 0.25), steps("fp32", 1.5))
    assert not equal
    assert "another number of steps" in sentence


def test_no_common_trial_is_not_equal() -> None:
    assert not compare_losses(steps("cuda fp32", 1.0), steps("cpu fp32", 1.0))[0]


def note_on_interrupted(earlier: list[Step], now: list[Step]) -> RepeatNote:
    ledger = PictureLedger(Path("/data"), {})
    before = Earlier(folder=Path("/run"), recipe=Recipe(), ledger=ledger, steps=tuple(earlier), finished=False)
    return repeat_note(before, now, (), on_gpu=False)


def test_an_interrupted_run_is_compared_as_far_as_it_came() -> None:
    now = [*steps("fp32", 1.5, 0.25, 0.125), *steps("bf16", 1.5)]
    note = note_on_interrupted(steps("fp32", 1.5, 0.25), now)
    assert note.equal
    assert "all 2 losses are bit-equal" in note.text
    assert note_on_interrupted(steps("fp32", 1.5, 0.5), now).equal is False
    assert note_on_interrupted(steps("fp32", 1.5, 0.25, 0.125, 0.1), now).equal is False


def test_a_run_interrupted_before_its_first_step_promises_nothing() -> None:
    assert note_on_interrupted([], steps("fp32", 1.5)).equal is None


def picture_set(root: Path, **splits: tuple[Picture, ...]) -> PictureSet:
    summary = PictureSummary(root=str(root), classes=("bags", "b\udcffd"), counts={}, split_rule="")
    every = {"train": (), "val": (), "test": ()} | splits
    return PictureSet(root=root, classes=("bags", "b\udcffd"), summary=summary, **every)


def picture(path: str, label: int = 0, sha256: str = "a" * 64) -> Picture:
    return Picture(path=path, label=label, sha256=sha256)


def test_any_file_name_survives(tmp_path: Path) -> None:
    odd = ("bags/a\tb\n.jpg", "bags/caf\udce9.jpg", "bags/😀 %41.jpg")
    pictures = picture_set(tmp_path, train=tuple(picture(path) for path in odd), val=(picture("x/y.jpg", label=1),))
    ledger_file = tmp_path / "pictures.tsv"
    ledger_file.write_text(picture_lines(pictures))
    ledger = read_picture_lines(ledger_file)
    assert ledger.root == tmp_path
    assert set(ledger.pictures) == {*odd, "x/y.jpg"}
    assert ledger.pictures["x/y.jpg"].class_name == "b\udcffd"
    assert changes(pictures, ledger.pictures) == ()


def test_changed_missing_and_new_pictures_are_named(tmp_path: Path) -> None:
    before = picture_set(tmp_path, train=(picture("a.jpg"), picture("b.jpg"), picture("c.jpg")))
    ledger_file = tmp_path / "pictures.tsv"
    ledger_file.write_text(picture_lines(before))
    recorded = read_picture_lines(ledger_file).pictures
    after = picture_set(
        tmp_path, train=(picture("a.jpg", sha256="b" * 64), picture("c.jpg", label=1)), val=(picture("d.jpg"),)
    )
    said = changes(after, recorded)
    assert said == (
        "a.jpg: its bytes changed",
        "b.jpg: missing or unreadable now",
        "c.jpg: another class",
        "d.jpg: new",
    )


def test_pictures_go_back_to_the_split_they_had(tmp_path: Path) -> None:
    ledger_file = tmp_path / "pictures.tsv"
    ledger_file.write_text(
        picture_lines(picture_set(tmp_path, train=(picture("b"), picture("a")), val=(picture("c"),)))
    )
    now = picture_set(tmp_path, train=(picture("c"), picture("new")), val=(picture("a"), picture("b")))
    again = same_split(now, read_picture_lines(ledger_file).pictures)
    assert [p.path for p in again.train] == ["b", "a", "new"]
    assert [p.path for p in again.val] == ["c"]


@pytest.mark.parametrize("text", ["", "# root\tx\n# head\ntrain\tonly three\tcells\n"])
def test_a_damaged_ledger_is_one_clear_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "pictures.tsv").write_text(text)
    with pytest.raises(BadInput, match="cannot repeat"):
        read_picture_lines(tmp_path / "pictures.tsv")
