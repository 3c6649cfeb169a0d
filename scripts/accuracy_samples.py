"""Everything whose right diagnosis is known, diagnosed: built cases, captures of real machines, public bug reports."""

import datetime
import os
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
from checks.overlay import OverlaySource, read_case

from rigwise.engine import judge
from rigwise.probes.rig import read_rig
from rigwise.records.finding import Action, CheckReport, Verdict
from rigwise.sources.opening import open_source
from rigwise.sources.source import Source

TESTS = Path(__file__).resolve().parents[1] / "tests"
CASES = TESTS / "cases"
REPORTS = TESTS / "accuracy" / "reports"
LABELS = TESTS / "accuracy" / "labels.toml"


class Label(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is right for one piece of evidence."""

    decision: tuple[Action, ...]
    """The decisions that are right; one, unless a person could defend two."""
    leads: tuple[str, ...] = ()
    """The checks that may lead; none where nothing is wrong."""
    may_also: tuple[str, ...] = ()
    """Checks that are also right, as symptoms or notes."""
    must_not: tuple[str, ...] = ()
    """Checks that must not even note anything."""


class BugReport(Label, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A public bug report: tests/accuracy/reports/*.toml."""

    source: str
    """Its address."""
    read_on: datetime.date
    answer: str
    """What its readers found to be wrong, in one sentence."""
    text: str = ""
    """The report as it was written."""
    files: dict[str, str] = {}
    """Or the files that came with it, by name."""


class Sample(NamedTuple):
    """One piece of evidence with its label, diagnosed."""

    name: str
    label: Label
    report: CheckReport
    judged: frozenset[str] | None = None
    """The checks the label speaks of; None for all."""


def diagnosed(source: Source) -> CheckReport:
    """The report on a source, with whatever it holds of a deep check."""
    return judge(read_rig(source, deep=True))


def cases() -> Iterator[Sample]:
    """The cases of every check; each speaks of its own check only."""
    for path in sorted(CASES.glob("*/*.toml")):
        case, check = read_case(path), path.parent.name
        problem = case.expect is Verdict.PROBLEM
        report = diagnosed(OverlaySource(case))
        label = Label(
            decision=(case.decision or report.decision.action,),
            leads=(check,) if problem else (),
            must_not=() if problem else (check,),
        )
        yield Sample(f"{check}/{path.stem}", label, report, frozenset({check}))


def captures() -> Iterator[Sample]:
    """The captures of other people's machines; none where they are not at hand."""
    folder = Path(os.environ.get("RIGWISE_SHARED") or TESTS.parents[1] / "shared") / "evidence"
    labels = msgspec.convert(tomllib.loads(LABELS.read_text(encoding="utf-8")), dict[str, Label])
    for name, label in labels.items() if folder.is_dir() else ():
        yield Sample(name, label, diagnosed(open_source([str(folder / name)])))


def reports(folder: Path = REPORTS) -> Iterator[Sample]:
    """Public bug reports, read the way a user would hand them over."""
    for path in sorted(folder.glob("*.toml")):
        told = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), BugReport)
        with tempfile.TemporaryDirectory() as place:
            for name, text in (told.files or {"report.txt": told.text}).items():
                (Path(place) / Path(name).name).write_text(text, encoding="utf-8")
            yield Sample(path.stem, told, diagnosed(open_source([place])))
