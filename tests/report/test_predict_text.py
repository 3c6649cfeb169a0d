"""What a model says of pictures, as people and spreadsheets read it."""

import csv
from io import StringIO

import msgspec
import pytest
from rich.console import Console

from rigwise.records.bad_picture import BadPicture
from rigwise.records.exported import Answer, Guess, PredictReport, Sureness, measured_accuracy
from rigwise.report.predict_text import predict_csv, predict_text

SURE = Answer(path="a/1.jpg", label="bags", probability=0.97, sure=True, possible=("bags",), truth="bags")
TORN = Answer(
    path="a/2.jpg", label="bags", probability=0.55, sure=False, possible=("bags", "shoes"), truth="shoes",
    top=(Guess(label="bags", probability=0.55), Guess(label="shoes", probability=0.45)),
)  # fmt: skip
STRANGE = Answer(path='a/"3", x.jpg', label="shoes", probability=0.4, sure=False)
REPORT = PredictReport(
    model="run/model",
    run="run",
    labels=("bags", "shoes"),
    device="cpu",
    notes=("cuda:0 is not used: no memory",),
    sureness=Sureness(threshold_ratio=0.42, coverage_ratio=0.95, num_pictures=150),
    answers=(SURE, TORN, STRANGE),
    bad=(BadPicture(path="a/4\x1b[31m.jpg", reason="truncated"),),
    accuracy=measured_accuracy("folders", 1, 2),
    confusion=((1, 0), (1, 0)),
    images_per_second=123.4,
)


def shown(report: PredictReport, width: int = 90) -> str:
    console = Console(width=width, record=True, file=StringIO())
    console.print(predict_text(report))
    return console.export_text()


def test_every_answer_is_a_row_and_unsure_ones_are_marked_with_the_reason() -> None:
    lines = [line.rstrip() for line in shown(REPORT).splitlines()]
    assert lines[:6] == [
        "  label  probability  picture",
        "  bags        97.0 %  a/1.jpg",
        "? bags        55.0 %  a/2.jpg",
        "                      shoes 45.0 % · unsure: bags or shoes · its folder says shoes",
        '? shoes       40.0 %  a/"3", x.jpg',
        "                      unsure: like no validation picture",
    ]


def test_the_lines_below_say_accuracy_threshold_and_what_was_skipped() -> None:
    text = " ".join(shown(REPORT).split())
    assert "accuracy 50.0 % (9.45 % to 90.5 %, 95 % interval): 1 of 2 pictures in folders of their classes" in text
    assert "2 of 3: not exactly one class has 42.0 % or more, which 95 % of the 150 validation pictures gave" in text
    assert "a/4\N{REPLACEMENT CHARACTER}[31m.jpg: truncated" in text
    assert "cuda:0 is not used: no memory" in text
    assert "\x1b" not in text
    assert "bags 1 0 shoes 1 0" in text


def test_without_truth_and_threshold_nothing_is_claimed() -> None:
    unknown = Sureness(threshold_ratio=None, coverage_ratio=0.95, num_pictures=5)
    answers = (msgspec.structs.replace(SURE, sure=None, truth=""),)
    text = shown(msgspec.structs.replace(REPORT, sureness=unknown, answers=answers, accuracy=None, confusion=None))
    assert "accuracy" not in text
    assert "?" not in text
    assert "not marked: 5 validation pictures are too few" in " ".join(text.split())


@pytest.mark.parametrize("width", [30, 60, 300])
def test_no_width_loses_a_path(width: int) -> None:
    assert "a/1.jpg" in shown(REPORT, width).replace("\n", "").replace(" ", "")


def test_the_table_has_a_line_for_each_picture() -> None:
    rows = list(csv.DictReader(StringIO(predict_csv(REPORT))))
    assert [row["path"] for row in rows] == ["a/1.jpg", "a/2.jpg", 'a/"3", x.jpg', "a/4\x1b[31m.jpg"]
    assert [row["sure"] for row in rows] == ["yes", "no", "no", ""]
    assert (rows[1]["label"], rows[1]["probability"], rows[1]["possible"]) == ("bags", "0.550000", "bags|shoes")
    assert (rows[3]["label"], rows[3]["why_not"]) == ("", "truncated")
