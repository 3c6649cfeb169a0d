"""The labels are sound, the counting is right, and the published page says what is measured now."""

import subprocess
import sys
import tomllib
from pathlib import Path

import msgspec
import pytest
from accuracy_samples import LABELS, REPORTS, BugReport, Label, Sample
from accuracy_scores import Tally, score
from guards.own_files import ROOT

from rigwise.knowledge.check_catalogue import check_catalogue
from rigwise.records.finding import Action, CheckReport, Decision, Finding, Severity, Verdict

MARKED = msgspec.convert(tomllib.loads(LABELS.read_text(encoding="utf-8")), dict[str, Label])
REPORTED = {
    path.stem: msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), BugReport)
    for path in REPORTS.glob("*.toml")
}


@pytest.mark.parametrize("name", [*MARKED, *REPORTED])
def test_a_label_names_checks_that_exist(name: str) -> None:
    label = MARKED.get(name) or REPORTED[name]
    assert {*label.leads, *label.may_also, *label.must_not} <= set(check_catalogue())
    assert label.decision
    assert not {*label.leads, *label.may_also} & {*label.must_not}


@pytest.mark.parametrize("name", list(REPORTED))
def test_a_bug_report_says_where_it_is_from(name: str) -> None:
    report = REPORTED[name]
    assert report.source.strip()
    assert report.answer.endswith(".")
    assert bool(report.text.strip()) != bool(report.files)


def test_every_capture_is_labelled(shared: Path) -> None:
    assert set(MARKED) == {path.name for path in (shared / "evidence").iterdir()} - {"INDEX.tsv"}


def problem(check: str, severity: Severity = Severity.SERIOUS, symptom_of: str | None = None) -> Finding:
    return Finding(
        check=check,
        target="rig",
        title=check,
        verdict=Verdict.PROBLEM,
        severity=severity,
        because="",
        evidence=(),
        next_steps=(),
        symptom_of=symptom_of,
    )


def sample(label: Label, action: Action, *findings: Finding, judged: str | None = None) -> Sample:
    report = CheckReport(decision=Decision(action=action, because="", next_steps=()), findings=findings)
    return Sample("it", label, report, frozenset({judged}) if judged else None)


FAULTY = Label(decision=(Action.STOP,), leads=("a",), may_also=("b",))
HEALTHY = Label(decision=(Action.GO,), must_not=("n",))


@pytest.mark.parametrize(
    ("given", "led", "alarmed", "tallies"),
    [
        (sample(FAULTY, Action.STOP, problem("a"), problem("b")), 1, 0, {"a": (1, 0, 0)}),
        (sample(FAULTY, Action.STOP, problem("b")), 0, 0, {"a": (0, 1, 0)}),
        (sample(FAULTY, Action.STOP, problem("c"), problem("a")), 0, 0, {"a": (1, 0, 0), "c": (0, 0, 1)}),
        (sample(FAULTY, Action.STOP, problem("a"), problem("c", symptom_of="a")), 1, 0, {"a": (1, 0, 0)}),
        (sample(FAULTY, Action.GO), 0, 0, {"a": (0, 1, 0)}),
        (sample(HEALTHY, Action.GO), 0, 0, {}),
        (sample(HEALTHY, Action.GO, problem("m", Severity.NOTE)), 0, 0, {}),
        (sample(HEALTHY, Action.GO, problem("n", Severity.NOTE)), 0, 0, {"n": (0, 0, 1)}),
        (sample(HEALTHY, Action.STOP, problem("m")), 0, 1, {"m": (0, 0, 1)}),
        (sample(HEALTHY, Action.CANNOT_TELL), 0, 1, {}),
        (sample(HEALTHY, Action.STOP, problem("elsewhere"), judged="n"), 0, 0, {}),
    ],
)
def test_the_counting(given: Sample, led: int, alarmed: int, tallies: dict[str, tuple[int, int, int]]) -> None:
    scores = score([given])
    assert (scores.num_led, scores.num_alarmed) == (led, alarmed)
    assert {check: (one.found, one.missed, one.false) for check, one in scores.checks.items()} == tallies
    right = led == len(given.label.leads and (1,)) and not alarmed and not any(one[2] for one in tallies.values())
    assert (scores.faults == []) == (right and given.report.decision.action in given.label.decision)


def test_precision_and_recall() -> None:
    tally = Tally(found=3, missed=1, false=2)
    assert (tally.precision, tally.recall) == (0.6, 0.75)
    assert (Tally().precision, Tally().recall) == (None, None)


def test_the_page_says_what_is_measured_now(shared: Path) -> None:
    script = [sys.executable, str(ROOT / "scripts" / "accuracy.py"), "--check"]
    done = subprocess.run(script, capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
