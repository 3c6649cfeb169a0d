"""From findings to one decision: the first cause leads, what follows from it is folded under it."""

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from rigwise.knowledge.check_catalogue import check_catalogue
from rigwise.records.evidence import Status
from rigwise.records.finding import RIG, Action, CheckReport, Decision, Finding, Severity, Verdict
from rigwise.speech import say

SEVERITIES = tuple(Severity)
"""Mildest first, as Severity lists them."""
EXPLICABLE = frozenset({Status.LOST, Status.TIMED_OUT, Status.NOT_FOUND, Status.FAILED})
"""Absences that a fault may bring about; a value that was not recorded is missing on a healthy machine too."""


def decide(findings: Sequence[Finding]) -> CheckReport:
    """The decision, and the findings in the order they are to be read: causes with their symptoms, unknown, ok."""
    problems = [finding for finding in findings if finding.verdict is Verdict.PROBLEM]
    explained = [_explained(finding, problems) for finding in findings]
    ordered = tuple(_in_reading_order(explained))
    return CheckReport(decision=_decision(ordered), findings=ordered)


def _explained(finding: Finding, problems: Sequence[Finding]) -> Finding:
    """The finding with the first cause that explains it, if any."""
    row = check_catalogue()[finding.check]
    if finding.verdict is Verdict.PROBLEM:
        cause = _first_cause(finding, row.follows, problems)
    elif finding.absence in EXPLICABLE:
        cause = _first_cause(finding, row.needs, problems)
    else:
        return finding
    return msgspec.structs.replace(finding, symptom_of=None if cause is finding else cause.check)


def _first_cause(finding: Finding, explaining: Sequence[str], problems: Sequence[Finding]) -> Finding:
    """The problem at the root of this finding; itself when nothing explains it."""
    for cause in problems:
        if cause.check in explaining and _concerns(cause, finding):
            return _first_cause(cause, check_catalogue()[cause.check].follows, problems)
    return finding


def _concerns(cause: Finding, symptom: Finding) -> bool:
    """A problem of one GPU explains nothing on another GPU."""
    return RIG in (cause.target, symptom.target) or cause.target == symptom.target


def _family_of(symptom: Finding, families: Sequence[list[Finding]]) -> list[Finding]:
    """The cause that a symptom was folded under: on the same GPU where there is one, else, over others, on another."""
    of_cause = [family for family in families if family[0].check == symptom.symptom_of]
    return next((family for family in of_cause if _concerns(family[0], symptom)), of_cause[0])


def _in_reading_order(findings: Sequence[Finding]) -> Iterable[Finding]:
    problems = [finding for finding in findings if finding.verdict is Verdict.PROBLEM]
    families = [[finding] for finding in problems if finding.symptom_of is None]
    for finding in problems:
        if finding.symptom_of is not None:
            _family_of(finding, families).append(finding)

    def gravity(family: Sequence[Finding]) -> int:
        return max(SEVERITIES.index(finding.severity) for finding in family)

    for family in sorted(families, key=gravity, reverse=True):
        yield from family
    yield from (finding for finding in findings if finding.verdict is Verdict.UNKNOWN)
    yield from (finding for finding in findings if finding.verdict is Verdict.OK)


def _decision(ordered: Sequence[Finding]) -> Decision:
    severities = {finding.severity for finding in ordered if finding.verdict is Verdict.PROBLEM}
    if Severity.SERIOUS in severities:
        return _because_of(Action.STOP, ordered[0])
    if Severity.WARNING in severities:
        return _because_of(Action.GO_WITH_CARE, ordered[0])
    missing = _missing(ordered)
    if missing is not None and missing.absence is Status.NOT_RECORDED and _tells_something(ordered):
        return Decision(action=Action.GO, because=_all_clear_in_part(ordered), next_steps=("rigwise check",))
    if missing is not None:
        next_steps = missing.next_steps or ("rigwise check --all",)
        return Decision(action=Action.CANNOT_TELL, because=missing.because, next_steps=next_steps)
    return Decision(action=Action.GO, because=_all_clear(ordered), next_steps=("rigwise smoke",))


def _because_of(action: Action, cause: Finding) -> Decision:
    headline = cause.title if cause.target == RIG else f"{cause.short_target}: {cause.title}"
    return Decision(action=action, because=headline, next_steps=cause.next_steps)


def _missing(ordered: Sequence[Finding]) -> Finding | None:
    """The unknown without which nothing can be decided; one that was asked for before one that nobody recorded."""
    unknown = [finding for finding in ordered if finding.verdict is Verdict.UNKNOWN]
    catalogue = check_catalogue()
    essential = [finding for finding in unknown if catalogue[finding.check].essential]
    if len(unknown) == len(ordered):
        essential += unknown
    return next((one for one in essential if one.absence is not Status.NOT_RECORDED), next(iter(essential), None))


def _all_clear(ordered: Sequence[Finding]) -> str:
    told = Counter(finding.verdict for finding in ordered)
    parts = [say("{count} checks found no problem", count=told[Verdict.OK])]
    if told[Verdict.PROBLEM]:
        parts.append(say("1 note") if told[Verdict.PROBLEM] == 1 else say("{count} notes", count=told[Verdict.PROBLEM]))
    unanswered = sum(one.verdict is Verdict.UNKNOWN and one.absence is not Status.NOT_SUPPORTED for one in ordered)
    if unanswered:
        parts.append(say("{count} without an answer", count=unanswered))
    return ", ".join(parts)


def _tells_something(ordered: Sequence[Finding]) -> bool:
    """Whether some check could tell, be it only a note; that no known error text was printed tells nothing."""
    catalogue = check_catalogue()
    return any(
        one.verdict is Verdict.PROBLEM or (one.verdict is Verdict.OK and not catalogue[one.check].told_only)
        for one in ordered
    )


def _all_clear_in_part(ordered: Sequence[Finding]) -> str:
    """For a part of the evidence, such as a kernel log alone: no more is said than it shows."""
    return say(
        "no problem in what was given: {told}; {count} checks had nothing to read",
        told=_all_clear([finding for finding in ordered if finding.absence is not Status.NOT_RECORDED]),
        count=sum(finding.absence is Status.NOT_RECORDED for finding in ordered),
    )
