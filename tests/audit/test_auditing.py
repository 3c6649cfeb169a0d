"""The whole audit of a folder: what it counts, what stops it (nothing), and what a person's answers change."""

import time
from pathlib import Path

import pytest
from audit.audited_sets import audited, draw_set, encoded, of_kind, scene
from PIL import Image
from train.bad_pictures import UNREADABLE, write

from rigwise.errors import BadInput
from rigwise.records.review import Answer, Review
from rigwise.train.audit.review_file import merged, read_review


def test_b109_no_unreadable_picture_stops_the_audit(tmp_path: Path) -> None:
    draw_set(tmp_path, {"a": 6, "b": 6})
    for name, (content, _) in UNREADABLE.items():
        write(tmp_path / "a" / name, content())
    report = audited(tmp_path)
    assert {entry.path for entry in report.bad} == {f"a/{name}" for name in UNREADABLE}
    assert all(UNREADABLE[Path(entry.path).name][1] in entry.reason for entry in report.bad)
    assert report.num_files == 12 + len(UNREADABLE)
    assert report.needs_a_human


def test_b111_large_pictures_are_read_small_and_a_sample_bounds_the_time(tmp_path: Path) -> None:
    """A large JPEG costs less than half of its full decode; the sample is the same each time, and is said."""
    large = scene("large", size=3000)
    write(tmp_path / "a" / "large.jpg", encoded(large))
    write(tmp_path / "b" / "large.jpg", encoded(scene("other", size=3000)))
    report = audited(tmp_path)
    began = time.perf_counter()
    Image.open(tmp_path / "a" / "large.jpg").resize((160, 160))
    assert report.images_per_second > 0.5 / (time.perf_counter() - began)
    draw_set(tmp_path / "many", {"a": 20, "b": 20})
    first, again = (audited(tmp_path / "many", sample=10) for _ in range(2))
    assert (first.num_files, first.num_looked_at) == (40, 10)
    assert "looked at 10 of 40 pictures: the rest may hold copies" in first.notes
    assert first.shortcuts == again.shortcuts


def test_imbalance_and_missing_classes_are_notes_and_no_alarm(tmp_path: Path) -> None:
    draw_set(tmp_path / "train", {"a": 24, "b": 6})
    draw_set(tmp_path / "val", {"a": 6})
    report = audited(tmp_path)
    assert report.counts == {"train": {"a": 24, "b": 6}, "val": {"a": 6, "b": 0}}
    assert any("a has 24 pictures, b 6" in note for note in report.notes)
    assert any("val has no picture of b" in note for note in report.notes)
    assert not report.needs_a_human


def test_one_class_is_looked_at_too(tmp_path: Path) -> None:
    report = audited(draw_set(tmp_path, {"a": 6}))
    assert (report.num_looked_at, report.shortcuts) == (6, ())


@pytest.fixture
def with_copy(tmp_path: Path) -> Path:
    draw_set(tmp_path, {"a": 6, "b": 6})
    write(tmp_path / "b" / "copy.jpg", encoded(scene(f"{tmp_path.name}/a/0")))
    return tmp_path


def test_a_confirmed_suspect_is_left_out_and_said(with_copy: Path) -> None:
    (suspect,) = of_kind(audited(with_copy), "copy")
    answer = Answer(kind="copy", path=suspect.path, answer="wrong", sha256=suspect.sha256)
    report = audited(with_copy, review=Review(answers=(answer,)))
    assert report.suspects == ()
    assert report.left_out == ("b/copy.jpg",)
    assert report.counts == {"train": {"a": 6, "b": 6}}


def test_a_rejected_suspicion_does_not_come_back(with_copy: Path) -> None:
    answer = Answer(kind="copy", path="b/copy.jpg", answer="right")
    report = audited(with_copy, review=Review(answers=(answer,)))
    assert (report.suspects, report.left_out) == ((), ())
    assert report.num_looked_at == 13


def test_an_answer_about_another_file_of_that_name_is_not_used(with_copy: Path) -> None:
    answer = Answer(kind="copy", path="b/copy.jpg", answer="wrong", sha256="0" * 64)
    report = audited(with_copy, review=Review(answers=(answer,)))
    assert [each.path for each in report.suspects] == ["b/copy.jpg"]
    assert report.left_out == ()


def test_the_later_answer_counts() -> None:
    first, second = (Review(answers=(Answer(path="a/1.jpg", answer=answer),)) for answer in ("wrong", "right"))
    assert [each.answer for each in merged([first, second]).answers] == ["right"]


@pytest.mark.parametrize(
    "content", ["", "[]", '{"schema": "rigwise.review/2"}', '{"answers": [{"answer": "wrong"}]}', "\xff"]
)
def test_a_file_that_is_no_review_is_one_clear_error(tmp_path: Path, content: str) -> None:
    path = tmp_path / "review.json"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(BadInput) as raised:
        read_review(path)
    assert "cannot read the answers" in raised.value.what
    assert raised.value.next_step
