"""What is recorded comes back as it was, soon, and cheaply."""

import math
import sqlite3
import threading
import time
from pathlib import Path

import msgspec
import pytest

from rigwise.records.bad_picture import BadPicture
from rigwise.records.evidence import Quote
from rigwise.records.finding import Action, CheckReport, Decision, Finding, Severity, Verdict
from rigwise.records.run import (
    Confusion,
    Event,
    PictureSummary,
    Prediction,
    Recommendation,
    RunRecord,
    Sample,
    Step,
    TrialResult,
    Validation,
)
from rigwise.telemetry.reading import load_run, open_database, read_samples
from rigwise.telemetry.schema import TABLES
from rigwise.telemetry.writer import RunWriter

REPORT = CheckReport(
    decision=Decision(action=Action.GO_WITH_CARE, because="GPU 0 is warm", next_steps=("nvidia-smi -q",)),
    findings=(
        Finding(
            check="hot_gpu",
            target="GPU 0",
            title="GPU is hot",
            verdict=Verdict.PROBLEM,
            severity=Severity.WARNING,
            because="91 C",
            evidence=(Quote("NVML DeviceGetTemperature gpu 0", "91"),),
            next_steps=("clean the fans",),
        ),
    ),
)
PICTURES = PictureSummary(
    root="products",
    classes=("bag", "shoe"),
    counts={"train": {"bag": 3, "shoe": 4}},
    split_rule="by hash",
    bad=(BadPicture(path="bag\udce9.jpg", reason="zero bytes"),),
)
CONFUSION = Confusion(trial="fp32", split="val", classes=("bag", "shoe"), counts=((3, 1), (0, 4)))
RECOMMENDATION = Recommendation(trial="fp32", because="it is the only one", next_step="rigwise train products")
TRIAL = TrialResult(
    name="fp32", device="cpu", precision="fp32", batch_size=32, image_size=96, steps=200, step_mean_seconds=0.25
)
VALIDATION = Validation(trial="fp32", step=50, at=12.5, loss=0.75, correct=41, total=50)
SAMPLE = Sample(at=0.25, metric="power_draw_watts", target="GPU-1", value=317.5)
EVENT = Event(at=1.0, kind="skipped picture", text="Größe ☃\nsecond line")
PREDICTION = Prediction(
    path="bag/1.jpg",
    truth="bag",
    predicted="shoe",
    probability=0.9,
    truth_probability=0.1,
    loss=math.inf,
    thumbnail="data:image/jpeg;base64,AA==",
)


def step(number: int, loss: float = 1.5) -> Step:
    return Step(trial="fp32", step=number, at=number / 4, step_seconds=0.25, data_seconds=0.125, loss=loss)


def test_every_record_and_fact_comes_back_equal(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "run.sqlite") as writer:
        for record in (TRIAL, step(1), step(2), VALIDATION, SAMPLE, EVENT, PREDICTION):
            writer.record(record)
        writer.fact("check", REPORT)
        writer.fact("pictures", PICTURES)
        writer.fact("confusion", CONFUSION)
        writer.fact("recommendation", RECOMMENDATION)
        writer.fact("rig_lines", ("RTX 4090", "64 GiB RAM"))
        writer.fact("model", "tf_efficientnet_lite0")
        writer.fact("weights", "ImageNet")
        writer.fact("finished", True)
    assert load_run(tmp_path) == RunRecord(
        name=tmp_path.name,
        folder=str(tmp_path),
        started_at="",
        finished=True,
        rigwise_version="",
        rig_lines=("RTX 4090", "64 GiB RAM"),
        check=REPORT,
        pictures=PICTURES,
        model="tf_efficientnet_lite0",
        weights="ImageNet",
        recipe_toml="",
        trials=(TRIAL,),
        steps=(step(1), step(2)),
        validations=(VALIDATION,),
        samples=(SAMPLE,),
        events=(EVENT,),
        predictions=(PREDICTION,),
        confusion=CONFUSION,
        recommendation=RECOMMENDATION,
    )


def test_every_table_of_a_run_record_has_a_table() -> None:
    """A record type added to RunRecord as a sequence of rows needs a table of the same name."""
    fields = {field.name for field in msgspec.structs.fields(RunRecord)}
    assert set(TABLES) <= fields
    assert {"trials", "steps", "validations", "samples", "events", "predictions", "ranks"} == set(TABLES)


def test_a_loss_that_is_not_a_number_is_still_not_a_number(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "run.sqlite") as writer:
        writer.record(step(1, loss=math.nan))
        writer.record(step(2, loss=math.inf))
    first, second = load_run(tmp_path).steps
    assert math.isnan(first.loss)
    assert second.loss == math.inf


def test_a_value_not_measured_stays_none(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "run.sqlite") as writer:
        writer.record(TRIAL)
    [trial] = load_run(tmp_path).trials
    assert trial.power_draw_watts is None
    assert trial.not_run is None


def test_a_file_name_in_no_encoding_is_escaped_not_lost(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "run.sqlite") as writer:
        writer.event("skipped picture", "bag\udce9.jpg")
    assert load_run(tmp_path).events[0].text == r"bag\udce9.jpg"


def test_the_last_value_of_a_fact_counts(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "run.sqlite") as writer:
        writer.fact("finished", False)
        writer.flush()
        writer.fact("finished", True)
    assert load_run(tmp_path).finished


def test_a_run_that_goes_on_can_be_read_within_a_second_of_each_record(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "run.sqlite") as writer:
        writer.record(step(1))
        deadline = time.monotonic() + 1.0
        while not load_run(tmp_path).steps and time.monotonic() < deadline:
            time.sleep(0.02)
        assert load_run(tmp_path).steps == (step(1),)


def test_flush_makes_everything_readable_at_once(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "run.sqlite") as writer:
        for number in range(5):
            writer.record(Sample(at=number, metric="temperature_celsius", target="GPU-1", value=40 + number))
        writer.flush()
        samples = read_samples(tmp_path / "run.sqlite", 1, 3)
    assert [sample.value for sample in samples] == [41, 42, 43]


def test_elapsed_and_events_follow_the_given_clock(tmp_path: Path) -> None:
    times = iter((100.0, 100.5, 107.0))
    with RunWriter(tmp_path / "run.sqlite", clock=lambda: next(times)) as writer:
        assert writer.elapsed() == 0.5
        writer.event("validation", "after 50 steps")
    assert load_run(tmp_path).events == (Event(at=7.0, kind="validation", text="after 50 steps"),)


def test_records_from_several_threads_are_all_kept(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "run.sqlite") as writer:
        threads = [
            threading.Thread(target=lambda first=first: [writer.record(step(first + n)) for n in range(500)])
            for first in (0, 1000, 2000)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len({kept.step for kept in load_run(tmp_path).steps}) == 1500


def test_recording_a_step_takes_less_than_five_microseconds(tmp_path: Path) -> None:
    steps = [step(number) for number in range(2000)]
    with RunWriter(tmp_path / "run.sqlite") as writer:
        rounds = []
        for _ in range(5):
            began = time.perf_counter()
            for one in steps:
                writer.record(one)
            rounds.append((time.perf_counter() - began) / len(steps))
    assert min(rounds) < 5e-6


def test_closing_twice_is_harmless_and_leaves_one_file(tmp_path: Path) -> None:
    writer = RunWriter(tmp_path / "run.sqlite")
    writer.record(step(1))
    writer.close()
    writer.close()
    assert [path.name for path in tmp_path.iterdir()] == ["run.sqlite"]


def test_a_record_sqlite_cannot_hold_is_not_swallowed(tmp_path: Path) -> None:
    writer = RunWriter(tmp_path / "run.sqlite")
    writer.record(step(1))
    writer.flush()
    writer.record(step(2**70))
    with pytest.raises(OverflowError):
        writer.close()
    assert load_run(tmp_path).steps == (step(1),)


def test_what_is_recorded_when_the_block_fails_is_kept(tmp_path: Path) -> None:
    def interrupted() -> None:
        with RunWriter(tmp_path / "run.sqlite") as writer:
            writer.record(step(1))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    run = load_run(tmp_path)
    assert run.steps == (step(1),)
    assert not run.finished


def test_the_tables_serve_sql_too(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "run.sqlite") as writer:
        writer.fact("check", REPORT)
        writer.record(step(1))
    with open_database(tmp_path / "run.sqlite") as connection:
        [finding] = connection.execute('SELECT "check", verdict, because FROM findings')
        [kinds] = connection.execute("SELECT typeof(trial), typeof(step), typeof(loss) FROM steps")
        with pytest.raises(sqlite3.OperationalError):
            connection.execute("DELETE FROM steps")
    assert finding == ("hot_gpu", "problem", "91 C")
    assert kinds == ("text", "integer", "real")
