"""`rigwise train` on texts as a user runs it: one run, its repeats, and what cannot be trained on."""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli.one_clear_error import assert_one_clear_error
from cli.started import Started
from text_laboratory import documents, text_recipe, write_records, write_texts

from rigwise.telemetry.reading import load_run
from rigwise.train.recipe import write_recipe

Run = Callable[..., Any]


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    return write_texts(tmp_path / "texts", documents(30))


@pytest.fixture
def text_toml(tmp_path: Path) -> Path:
    path = tmp_path / "text.toml"
    path.write_text(write_recipe(text_recipe(steps=8)))
    return path


def losses(run: Path) -> list[tuple[str, int, float]]:
    with sqlite3.connect(run / "run.sqlite") as connection:
        return connection.execute("SELECT trial, step, loss FROM steps ORDER BY trial, step").fetchall()


def test_a_run_its_resumption_its_repeat_and_one_after_a_change(
    rigwise: Run, begin: Callable[..., Started], texts: Path, text_toml: Path, tmp_path: Path
) -> None:
    first = rigwise("train", texts, "--recipe", text_toml, "--out", tmp_path / "first")
    assert first.returncode == 0, first.stderr
    for expected in ("texts · 30 documents", "tokens/s", "random weights", "perplexity", "report.html", "learned"):
        assert expected in first.stdout
    names = {path.name for path in (tmp_path / "first").iterdir()}
    assert names >= {"manifest.json", "run.sqlite", "report.html", "recipe.toml", "lock.txt", "texts.tsv", "model.pt"}
    assert "What the texts are" in (tmp_path / "first" / "report.html").read_text()

    arguments = ("--recipe", str(text_toml), "--out", str(tmp_path / "killed"))
    killed = begin(text_toml, tmp_path / "killed", str(texts), *arguments).until(lambda run: run.num_steps() > 1)
    killed.process.kill()
    killed.process.communicate()
    resumed = rigwise("train", "--resume", tmp_path / "killed")
    assert resumed.returncode == 0, resumed.stderr
    assert losses(tmp_path / "killed") == losses(tmp_path / "first")
    before, after = (load_run(tmp_path / name) for name in ("first", "killed"))
    assert before.text_review is not None
    assert after.text_review is not None
    assert after.text_review.continuations == before.text_review.continuations

    again = rigwise("train", "--from", tmp_path / "first", "--out", tmp_path / "second", "--json")
    assert again.returncode == 0, again.stderr
    found = json.loads(again.stdout)
    assert found["repeat_equal"] is True
    assert found["text_review"]["split"] == "val"
    assert losses(tmp_path / "second") == losses(tmp_path / "first")
    assert len({loss for *_, loss in losses(tmp_path / "first")}) > 4

    (texts / "007.txt").write_text("another text\n")
    changed = rigwise("train", "--from", tmp_path / "first", "--out", tmp_path / "third")
    assert changed.returncode == 1
    assert "007.txt: its words changed" in changed.stderr
    assert "documents that are not what they were: 1, first 007.txt" in " ".join(changed.stdout.split())


def test_a_mixture_of_pictures_and_texts(rigwise: Run, texts: Path) -> None:
    for number in range(6):
        (texts / f"{number}.png").touch()
    assert_one_clear_error(rigwise("train", texts), "mixes pictures and texts", "pictures: 6, texts: 30")


def test_texts_that_are_mostly_no_texts(rigwise: Run, texts: Path) -> None:
    for number in range(9):
        (texts / f"{number:03}.txt").write_bytes(b"\xff\xfe\x00")
    assert_one_clear_error(rigwise("train", texts), "9 of 30 files and records", "000.txt", "NUL bytes")


@pytest.mark.parametrize("content", ["", "\n\n", '{"text": ""}\n{"text": " "}\n'])
def test_records_without_anything_to_learn(rigwise: Run, tmp_path: Path, content: str) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_text(content)
    assert_one_clear_error(rigwise("train", path), "too little text")


def test_records_whose_field_has_another_name(rigwise: Run, tmp_path: Path) -> None:
    path = write_records(tmp_path / "a.jsonl", [{"body": text} for text in documents(20)])
    assert_one_clear_error(rigwise("train", path), "20 of 20", "a.jsonl:1", "neither 'text', completion nor messages")


def test_a_run_folder_among_the_texts_is_refused(rigwise: Run, texts: Path) -> None:
    assert_one_clear_error(rigwise("train", texts, "--out", texts / "run"), "would lie among the texts")


def test_a_model_folder_that_is_not_there(rigwise: Run, texts: Path) -> None:
    pytest.importorskip("transformers", reason="the `text` extra is not installed")
    run = rigwise("train", texts, "--model", "gpt2")
    assert_one_clear_error(run, "no model folder gpt2", "nothing is fetched")


def test_every_fault_of_the_text_section_is_named_at_once(rigwise: Run, texts: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "bad.toml"
    recipe.write_text('[text]\nwidth = 30\nheads = 4\nval_ratio = 2.0\nbatching = "sorted"\ncontxt = 5\n')
    run = rigwise("train", texts, "--recipe", recipe)
    assert_one_clear_error(run, "text.width = 30: must be a multiple of 8", "val_ratio", "batching", "text.context?")
