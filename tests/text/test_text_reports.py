"""What a person reads of a run on texts: the recommendation, the terminal, the page, the JSON; and old runs still."""

import io
import json
import math
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from report.sample_run import gpu_run
from rich.console import Console

from rigwise.records.run import RunRecord, Step, TrialResult, Validation
from rigwise.records.text import Continuation, ScoredDocument, TextReview, TextSummary
from rigwise.report.html import render_report
from rigwise.report.json_text import train_json
from rigwise.report.run_text import run_text
from rigwise.telemetry.reading import load_run
from rigwise.telemetry.run_folder import create_run_folder
from rigwise.telemetry.writer import RunWriter
from rigwise.train.choice import recommend
from rigwise.train.experiment import run_experiment
from rigwise.train.text_lab import TextLab

EVIL = "</pre><script>document.title='owned'</script>\x1b[2J\u202e"


def row(name: str, speed: float, loss: float, error: float | None = 0.02) -> TrialResult:
    return TrialResult(
        name=name,
        device="cuda:0",
        precision=name,
        batch_size=32,
        image_size=0,
        steps=200,
        step_mean_seconds=0.1,
        sequence_length=256,
        tokens_per_second=speed,
        samples_per_second=speed / 256,
        val_loss=loss,
        val_loss_standard_error=error,
        val_correct=4000,
        val_total=10_000,
        num_tokens=1_638_400,
        num_epochs=0.42,
    )


def taken(*rows: TrialResult) -> tuple[str | None, list[str]]:
    found = recommend(rows, "", "rigwise train --from runs/1")
    return found.trial, found.because.splitlines()


def test_the_fastest_trial_whose_loss_is_not_clearly_higher_is_taken() -> None:
    # 0.05 apart, the error of the difference is 0.028: 1.96 of it is 0.055.
    trial, because = taken(row("fp32", 80_000, 2.00), row("bf16", 200_000, 2.05))
    assert trial == "bf16"
    assert because == [
        "200,000 tokens/s and a loss of 2.05 nats (perplexity 7.77) on 10,000 validation tokens.",
        "2.50 x the speed of fp32 (80,000 tokens/s, loss 2.00 nats).",
    ]


def test_a_faster_trial_with_a_clearly_higher_loss_is_not_taken() -> None:
    trial, because = taken(row("fp32", 80_000, 2.00), row("bf16", 200_000, 2.06))
    assert trial == "fp32"
    assert because[1] == "0.400 x the speed of bf16 (200,000 tokens/s, loss 2.06 nats, clearly higher)."


def test_a_loss_whose_error_is_unknown_is_not_called_clearly_higher() -> None:
    assert taken(row("fp32", 100, 2.0, None), row("bf16", 200, 9.0, None))[0] == "bf16"


def text_run(trials: tuple[TrialResult, ...] | None = None) -> RunRecord:
    summary = TextSummary(
        root=f"/data/{'notes'}",
        counts={"train": 90, "val": 10, "test": 0},
        characters={"train": 9000, "val": 1000, "test": 0},
        split_rule="by document",
        notes=("copies of another document: 3",),
    )
    document = ScoredDocument(
        name=EVIL,
        loss=7.5,
        num_tokens=12,
        excerpt=EVIL,
        before=EVIL,
        truth=EVIL,
        predicted=EVIL,
        truth_probability=0.001,
    )
    review = TextReview(
        trial="bf16",
        split="val",
        num_tokens=10_000,
        loss=2.0,
        unigram_loss=3.0,
        documents=(document,),
        continuations=(Continuation(name="notes.jsonl:4", prompt="The card", text=EVIL),),
    )
    trials = trials or (row("fp32", 80_000, 2.0), row("bf16", 200_000, 2.05))
    return msgspec.structs.replace(
        gpu_run(),
        pictures=None,
        confusion=None,
        predictions=(),
        audit=None,
        texts=summary,
        text_review=review,
        trials=trials,
        recommendation=recommend(trials, "", "rigwise train --from runs/1"),
        steps=tuple(
            Step(trial="bf16", step=step, at=step, step_seconds=0.1, data_seconds=0.0, loss=5 / step) for step in (1, 2)
        ),
        validations=(Validation(trial="bf16", step=2, at=2.0, loss=2.05, correct=4000, total=10_000),),
    )


def shown(run: RunRecord, width: int = 160) -> str:
    console = Console(width=width, file=io.StringIO(), record=True)
    console.print(run_text(run, page="report.html"))
    return console.export_text()


def test_the_terminal_shows_tokens_and_losses() -> None:
    text = shown(text_run())
    for expected in (
        "notes · 100 documents · 10,000 characters",
        "tokens/s",
        "200,000",
        "2.05 (2.01-2.09)",
        "7.77",
        "more than how often each token comes: a loss of 2.00 nats on val, where frequencies alone reach 3.00",
        "copies of another document: 3",
    ):
        assert expected in text
    assert "img/s" not in text
    assert "\x1b[2J" not in text
    assert "\u202e" not in text


def test_the_page_shows_documents_harmlessly() -> None:
    page = render_report(text_run())
    assert "<script>document.title" not in page
    assert "&lt;script&gt;document.title" in page
    assert "\x1b" not in page.replace("\\u001b", "")
    assert "\u202e" not in page
    for expected in (
        "What the texts are",
        "The documents it foretold worst",
        "Validation loss",
        "tokens/s",
        "0.420 of an epoch",
    ):
        assert expected in page
    for unexpected in ("What the pictures are", "Confusion", "val accuracy"):
        assert unexpected not in page


def test_a_run_that_stopped_before_a_review_has_a_page() -> None:
    page = render_report(msgspec.structs.replace(text_run(), text_review=None, recommendation=None, validations=()))
    assert "No texts were foretold" in page
    assert "No trial reached a validation." in page


def test_a_loss_that_is_not_finite_is_said_in_words() -> None:
    text = shown(text_run((row("fp32", 80_000, math.nan, None), row("bf16", 200_000, 1e9))))
    assert "not finite" in text


def test_json_holds_rows_and_review() -> None:
    found = json.loads(train_json(text_run()))
    assert found["trials"][1]["tokens_per_second"] == 200_000
    assert found["trials"][1]["val_loss"] == 2.05
    assert found["texts"]["counts"]["train"] == 90
    assert found["text_review"]["unigram_loss"] == 3.0
    assert "\x1b" not in train_json(text_run())


def test_a_text_run_reads_back_as_it_was_written(make_text_lab: Callable[..., TextLab]) -> None:
    lab = make_text_lab()
    experiment = run_experiment(lab)
    lab.writer.fact("texts", lab.texts.summary)
    lab.writer.flush()
    run = load_run(lab.folder.path)
    assert run.trials == experiment.rows
    assert run.texts == lab.texts.summary


@pytest.mark.parametrize(
    "dropped", [["tokens_per_second", "val_loss"], ["sequence_length", "num_tokens", "num_epochs"]]
)
def test_a_run_of_an_older_rigwise_is_read(tmp_path: Path, dropped: list[str]) -> None:
    folder = create_run_folder(tmp_path / "run")
    old = msgspec.structs.replace(row("fp32", 1, 2.0), **dict.fromkeys(dropped))
    with RunWriter(folder.database) as writer:
        writer.record(old)
    with closing(sqlite3.connect(folder.database)) as database:
        for column in dropped:
            database.execute(f"ALTER TABLE trials DROP COLUMN {column}")
        database.commit()
    assert load_run(folder.path).trials == (old,)
