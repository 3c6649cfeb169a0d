"""A database that another process of the same run goes on writing."""

import sqlite3
from pathlib import Path

from rigwise.records.run import Event, Prediction, Step, Validation
from rigwise.telemetry.reading import load_run
from rigwise.telemetry.writer import RunWriter


def step(trial: str, number: int, loss: float = 1.5) -> Step:
    return Step(trial=trial, step=number, at=number, step_seconds=1.0, data_seconds=0.0, loss=loss)


def begun(database: Path) -> Path:
    with RunWriter(database) as writer:
        for number in (1, 2, 3):
            writer.record(step("fp32", number))
        writer.record(Validation(trial="fp32", step=3, at=3.5, loss=1.0, correct=1, total=2))
        writer.record(step("bf16", 3))
        writer.record(Event(at=7.25, kind="skipped", text="a"))
    return database


def test_its_records_stay_and_its_time_goes_on_from_the_last(tmp_path: Path) -> None:
    database = begun(tmp_path / "run.sqlite")
    now = [1000.0]
    with RunWriter(database, continues=True, clock=lambda: now[0]) as writer:
        assert writer.elapsed() == 7.25
        now[0] += 2
        writer.event("resumed", "b")
    run = load_run(tmp_path)
    assert [event.at for event in run.events] == [7.25, 9.25]
    assert len(run.steps) == 4


def test_steps_that_are_taken_again_are_taken_back(tmp_path: Path) -> None:
    with RunWriter(begun(tmp_path / "run.sqlite"), continues=True) as writer:
        writer.record(step("fp32", 4))
        writer.forget_steps("fp32", after=2)
        writer.record(step("fp32", 3, loss=0.5))
    run = load_run(tmp_path)
    assert [(each.trial, each.step, each.loss) for each in run.steps] == [
        ("fp32", 1, 1.5),
        ("fp32", 2, 1.5),
        ("bf16", 3, 1.5),
        ("fp32", 3, 0.5),
    ]
    assert run.validations == ()


def test_predictions_are_taken_back(tmp_path: Path) -> None:
    with RunWriter(begun(tmp_path / "run.sqlite"), continues=True) as writer:
        writer.record(
            Prediction(
                path="a", truth="b", predicted="c", probability=0.5, truth_probability=0.5, loss=1.0, thumbnail=""
            )
        )
        writer.forget_predictions()
    assert load_run(tmp_path).predictions == ()


def test_what_is_settled_lies_in_the_database_itself(tmp_path: Path) -> None:
    database = tmp_path / "run.sqlite"
    with RunWriter(database) as writer:
        writer.record(step("fp32", 1))
        writer.settle()
        alone = tmp_path / "alone.sqlite"
        alone.write_bytes(database.read_bytes())  # without the log beside it
        with sqlite3.connect(alone) as connection:
            assert connection.execute("SELECT COUNT(*) FROM steps").fetchone() == (1,)
        connection.close()


def test_a_database_killed_before_it_had_tables_gets_them(tmp_path: Path) -> None:
    (tmp_path / "run.sqlite").touch()
    with RunWriter(tmp_path / "run.sqlite", continues=True) as writer:
        writer.record(step("fp32", 1))
    assert len(load_run(tmp_path).steps) == 1
