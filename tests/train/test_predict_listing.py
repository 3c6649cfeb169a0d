"""Which pictures `rigwise predict` is asked about, and whose class they are said to be; answers counted."""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest
from train.bad_pictures import write

from rigwise.errors import BadInput, CannotTell
from rigwise.report.predict_text import predict_csv
from rigwise.train.export.model_folder import ExportedModel
from rigwise.train.predict.listing import Listed, listed
from rigwise.train.predict.predictor import predictor_of
from rigwise.train.predict.report import predict
from rigwise.train.progress import Silent

LABELS = ("bags", "shoes")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Pictures in, beside and below folders of classes, and other files; none is opened."""
    for name in (
        "bags/1.jpg",
        "test/shoes/deep/2.PNG",
        "loose.webp",
        "bags/shoes/3.jpg",
        "bags/notes.txt",
        ".hidden.jpg",
    ):
        write(tmp_path / name, b"")
    (tmp_path / "shoes").mkdir()
    (tmp_path / "shoes" / "gone.jpg").symlink_to("nowhere")
    (tmp_path / "shoes" / "again").symlink_to("..")
    return tmp_path


def found(places: Sequence[Path], content: bytes = b"") -> dict[str, Listed]:
    return {str(each.path): each for each in listed(places, LABELS, lambda: content)}


def test_a_folder_gives_every_picture_and_the_outermost_class_it_lies_in(tree: Path) -> None:
    truths = {path.removeprefix(f"{tree}/"): each.truth for path, each in found([tree]).items() if not each.why_not}
    assert truths == {
        "bags/1.jpg": "bags",
        "bags/shoes/3.jpg": "bags",
        "loose.webp": "",
        "test/shoes/deep/2.PNG": "shoes",
    }


def test_what_leads_nowhere_is_listed_with_the_reason(tree: Path) -> None:
    reasons = {path.removeprefix(f"{tree}/"): each.why_not for path, each in found([tree]).items() if each.why_not}
    assert reasons.keys() == {"shoes/gone.jpg", "shoes/again"}
    assert "leads nowhere" in reasons["shoes/gone.jpg"]


def test_a_folder_named_as_a_class_says_nothing_when_it_is_the_one_given(tree: Path) -> None:
    assert {each.truth for each in found([tree / "bags"]).values()} == {"", "shoes"}


def test_files_are_taken_whatever_their_name(tree: Path) -> None:
    assert list(found([tree / "bags" / "notes.txt", tree / "loose.webp"])) == [
        f"{tree}/bags/notes.txt", f"{tree}/loose.webp"
    ]  # fmt: skip


@pytest.mark.parametrize("end", [b"\n", b"\0", b"\r\n"])
def test_a_list_stands_where_it_is_asked_for_and_may_name_what_is_gone(tree: Path, end: bytes) -> None:
    content = b"gone.png" + end + "\udcff x.png".encode("utf-8", "surrogateescape") + end
    assert list(found([tree / "loose.webp", Path("-")], content)) == [f"{tree}/loose.webp", "gone.png", "\udcff x.png"]


@pytest.mark.parametrize("places", [["nowhere"], ["shoes/empty"], ["-"], ["loose.webp", "nowhere"]])
def test_no_pictures_is_bad_input(tree: Path, places: list[str]) -> None:
    (tree / "shoes" / "empty").mkdir()
    with pytest.raises(BadInput):
        found([Path(place) if place == "-" else tree / place for place in places])


def test_unreadable_pictures_are_counted_apart_and_reach_the_table(
    exported_model: ExportedModel, easy_pictures: Path, tmp_path: Path
) -> None:
    bad = write(tmp_path / "bad,name.jpg", b"<html>")
    good = easy_pictures / "bags" / "00.png"
    pictures = [Listed(path=bad), Listed(path=good, truth="bags"), Listed(path=tmp_path, why_not="a loop")]
    report = predict(predictor_of(exported_model, device="cpu"), pictures, "model", Silent())
    assert [each.path for each in report.answers] == [str(good)]
    assert {each.path: each.reason.split(",")[0] for each in report.bad} == {
        str(bad): "an HTML page", str(tmp_path): "a loop"
    }  # fmt: skip
    assert report.accuracy is not None
    assert report.accuracy.total == 1
    assert f'"{bad}",,' in predict_csv(report)


def test_nothing_readable_is_cannot_tell(exported_model: ExportedModel, tmp_path: Path) -> None:
    with pytest.raises(CannotTell) as refused:
        predict(predictor_of(exported_model, device="cpu"), [Listed(path=tmp_path / "gone")], "model", Silent())
    assert "No such file" in refused.value.why


def test_a_program_of_another_torch_names_both(exported_model: ExportedModel) -> None:
    program = b"PK of another time"
    card = msgspec.structs.replace(
        exported_model.card, versions={"torch": "9.9.9+cu999"}, files={"model.pt2": sha256(program).hexdigest()}
    )
    with pytest.raises(BadInput) as refused:
        predictor_of(msgspec.structs.replace(exported_model, card=card, program=program), device="cpu")
    assert "made by torch 9.9.9+cu999" in refused.value.why
    assert refused.value.next_step == "pip install torch==9.9.9"
