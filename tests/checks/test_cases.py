"""Every case of every check, through the whole path: source, probes, checks, decision."""

from pathlib import Path

import pytest
from checks.overlay import Case, OverlaySource, read_case

from rigwise.engine import judge
from rigwise.probes.rig import read_rig
from rigwise.records.finding import CheckReport, Finding, Verdict
from rigwise.report.causes import commands, sentences

CASES = Path(__file__).parents[1] / "cases"
FILES = sorted(CASES.rglob("*.toml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_case(path: Path) -> None:
    case = read_case(path)
    report = judge(read_rig(OverlaySource(case), deep=True))
    own = [finding for finding in report.findings if finding.check == path.parent.name]
    _says_what_is_expected(case, _expected(case, own), own)
    _decides(case, report)
    _quotes_its_evidence(report)


def _expected(case: Case, own: list[Finding]) -> Finding:
    matching = [finding for finding in own if finding.verdict is case.expect and _is_target(case, finding)]
    assert matching, [(finding.target, finding.verdict, finding.because) for finding in own]
    return matching[0]


def _is_target(case: Case, finding: Finding) -> bool:
    return case.target is None or finding.target.startswith(case.target)


def _says_what_is_expected(case: Case, finding: Finding, own: list[Finding]) -> None:
    if case.expect is not Verdict.PROBLEM:
        assert all(other.verdict is not Verdict.PROBLEM for other in own)
    if case.severity is not None:
        assert finding.severity is case.severity
    if case.symptom_of is not None:
        assert finding.symptom_of == case.symptom_of
    assert case.because_contains in finding.because
    assert case.because_lacks is None or case.because_lacks not in finding.because
    steps = "\n".join(finding.next_steps)
    assert case.next_contains in steps
    assert case.next_lacks is None or case.next_lacks not in steps
    assert case.quotes in " ".join(quote.text for quote in finding.evidence)


def _decides(case: Case, report: CheckReport) -> None:
    problems = [finding for finding in report.findings if finding.verdict is Verdict.PROBLEM]
    if case.decision is not None:
        assert report.decision.action is case.decision, [(one.check, one.severity) for one in problems]
    if case.num_problems is not None:
        serious = [finding for finding in problems if finding.severity is not finding.severity.NOTE]
        assert len(serious) == case.num_problems, [finding.check for finding in serious]


def _quotes_its_evidence(report: CheckReport) -> None:
    """Absence is never health: what is fine or wrong quotes what it was read from."""
    for finding in report.findings:
        if finding.verdict is not Verdict.UNKNOWN:
            assert finding.evidence, finding.check
            assert all(quote.text and quote.source for quote in finding.evidence), finding
        if finding.verdict is Verdict.PROBLEM:
            assert sentences(finding.next_steps) == finding.next_steps[:1], finding
            assert commands(finding.next_steps), finding
