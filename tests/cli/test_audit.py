"""`rigwise audit` as a user runs it: exit codes, the run folder, JSON, and answers that the next run uses."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli.one_clear_error import assert_one_clear_error

Run = Callable[..., Any]


def test_nothing_suspicious_is_go_and_leaves_a_page(rigwise: Run, tmp_path: Path) -> None:
    from audit.audited_sets import draw_set

    run = rigwise("audit", draw_set(tmp_path / "clean", {"a": 12, "b": 12}), "--no-labels", "--out", "run")
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.startswith("GO ")
    assert "pictures/s" in run.stdout
    assert {path.name for path in (tmp_path / "run").iterdir()} >= {"manifest.json", "audit.json", "audit.html"}


def test_json_is_the_report_without_thumbnails(rigwise: Run, pictures: Path) -> None:
    (pictures / "bags" / "half.jpg").write_bytes(b"\xff\xd8\xff")
    run = rigwise("audit", pictures, "--no-labels", "--json")
    report = json.loads(run.stdout)
    assert run.returncode == 1
    assert report["schema"] == "rigwise.audit/1"
    assert [entry["path"] for entry in report["bad"]] == ["bags/half.jpg"]
    assert "data:image" not in run.stdout


def test_labels_are_judged_and_suspects_named(rigwise: Run, tmp_path: Path) -> None:
    from rigwise.train.embedded import EmbeddedSet, make_pictures

    folder = make_pictures(tmp_path / "drawn", EmbeddedSet(per_class=6, label_noise=0.1))
    report = json.loads(rigwise("audit", folder, "--json").stdout)
    assert report["labels"]["num_judged"] >= 20
    assert report["labels"]["out_of_fold_accuracy_ratio"] > 0.5
    assert all(each["suggested_class"] != each["class_name"] for each in report["suspects"] if each["kind"] == "label")


def test_answers_are_used_by_the_next_training_run_and_its_repeat(
    rigwise: Run, pictures: Path, recipe: Path, tmp_path: Path
) -> None:
    answers = [{"path": "bags/03.png", "answer": "wrong"}, {"path": "bags/04.png", "answer": "right"}]
    review = tmp_path / "review.json"
    review.write_text(json.dumps({"schema": "rigwise.review/1", "answers": answers}))
    run = rigwise("train", pictures, "--recipe", recipe, "--out", "first", "--verdicts", review)
    assert run.returncode == 0, run.stderr
    assert "left out, as a person said: 1" in " ".join(run.stdout.split())
    assert "bags/03.png" not in (tmp_path / "first" / "pictures.tsv").read_text()
    assert "bags/04.png" in (tmp_path / "first" / "pictures.tsv").read_text()
    review.unlink()
    again = rigwise("train", "--from", "first", "--out", "second")
    assert again.returncode == 0, again.stderr
    assert "bit-equal" in again.stdout


@pytest.mark.parametrize(
    "arguments", [["nowhere"], ["pictures", "--verdicts", "nowhere.json"], ["pictures", "--out", "pictures/run"]]
)
def test_bad_input_is_one_clear_error_and_leaves_nothing(
    rigwise: Run, pictures: Path, tmp_path: Path, arguments: list[str]
) -> None:
    run = rigwise("audit", *arguments)
    assert_one_clear_error(run)
    assert not (tmp_path / "runs").exists()
    assert pictures.is_dir()


def test_nothing_readable_is_cannot_tell(rigwise: Run, tmp_path: Path) -> None:
    (tmp_path / "set" / "a").mkdir(parents=True)
    (tmp_path / "set" / "a" / "1.jpg").touch()
    assert_one_clear_error(rigwise("audit", tmp_path / "set", "--no-labels"), exit_code=3)


def test_a_training_run_audits_its_pictures_and_leaves_both_pages(finished_run: tuple[Path, Path]) -> None:
    from rigwise.telemetry.reading import load_run

    run = load_run(finished_run[0])
    assert run.audit is not None
    assert run.audit.num_looked_at == 36
    assert run.audit.counterfactual is not None
    assert run.audit.labels.why_not == "not asked for"
    assert "Before you trust an accuracy" in (finished_run[0] / "report.html").read_text(encoding="utf-8")
    assert (finished_run[0] / "audit.html").is_file()
