"""Findings arranged for reading: each cause with its symptoms folded under it, the rest counted."""

from collections.abc import Sequence

import msgspec

from rigwise.records.evidence import Status
from rigwise.records.finding import Action, CheckReport, Finding, Verdict
from rigwise.speech import say


class Cause(msgspec.Struct, frozen=True):
    """A problem that follows from no other, and what follows from it."""

    finding: Finding
    symptoms: tuple[Finding, ...]
    """Further problems, and checks that have no answer because of it."""

    @property
    def problems(self) -> tuple[Finding, ...]:
        """The symptoms that are faults themselves."""
        return tuple(symptom for symptom in self.symptoms if symptom.verdict is Verdict.PROBLEM)

    @property
    def unanswered(self) -> tuple[Finding, ...]:
        """The checks that this cause keeps from telling anything."""
        return tuple(symptom for symptom in self.symptoms if symptom.verdict is Verdict.UNKNOWN)


class Arranged(msgspec.Struct, frozen=True, kw_only=True):
    """All findings of a report, each in exactly one place."""

    causes: tuple[Cause, ...]
    unknown: tuple[Finding, ...]
    ok: tuple[Finding, ...]


def arrange(report: CheckReport) -> Arranged:
    """The report's findings, causes first, in the order the decision gave them."""
    problems = [finding for finding in report.findings if finding.verdict is Verdict.PROBLEM]
    problem_ids = {finding.check for finding in problems}
    cause_ids = {finding.check for finding in problems if finding.symptom_of not in problem_ids}
    folded: dict[str | None, list[Finding]] = {}
    shown: dict[Verdict, list[Finding]] = {verdict: [] for verdict in Verdict}
    for finding in report.findings:
        if finding.symptom_of in cause_ids and finding.verdict is not Verdict.OK:
            folded.setdefault(finding.symptom_of, []).append(finding)
        else:
            shown[finding.verdict].append(finding)
    return Arranged(
        causes=tuple(Cause(finding, tuple(folded.pop(finding.check, ()))) for finding in shown[Verdict.PROBLEM]),
        unknown=tuple(shown[Verdict.UNKNOWN]),
        ok=tuple(shown[Verdict.OK]),
    )


def sentences(steps: Sequence[str]) -> tuple[str, ...]:
    """The steps in words; each ends with a full stop.

    >>> sentences(("Restart the machine.", "sudo reboot"))
    ('Restart the machine.',)
    """
    return tuple(step for step in steps if step.endswith("."))


def commands(steps: Sequence[str]) -> tuple[str, ...]:
    """The steps that can be copied into a shell.

    >>> commands(("Restart the machine.", "sudo reboot"))
    ('sudo reboot',)
    """
    return tuple(step for step in steps if not step.endswith("."))


def action_word(action: Action) -> str:
    """The decision as one word in capitals."""
    return {
        Action.GO: say("GO"),
        Action.GO_WITH_CARE: say("GO WITH CARE"),
        Action.STOP: say("STOP"),
        Action.CANNOT_TELL: say("CANNOT TELL"),
    }[action]


def absence_words(status: Status) -> str:
    """Why a value is absent, as the end of a sentence."""
    return {
        Status.OK: say("read"),
        Status.NOT_SUPPORTED: say("not supported"),
        Status.NOT_PERMITTED: say("not permitted"),
        Status.NOT_FOUND: say("not found"),
        Status.TIMED_OUT: say("timed out"),
        Status.LOST: say("the GPU is lost"),
        Status.FAILED: say("the question failed"),
        Status.NOT_RECORDED: say("not recorded"),
        Status.UNREADABLE: say("the answer could not be read"),
    }[status]
