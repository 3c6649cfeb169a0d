"""How often the reports on a set of samples are right, by check and over all."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from accuracy_samples import Sample

from rigwise.records.finding import Action, Finding, Severity, Verdict


@dataclass(slots=True)
class Tally:
    """What one check found and missed."""

    found: int = 0
    """Faults of this kind that it found."""
    missed: int = 0
    false: int = 0
    """Problems it told of that were none."""

    @property
    def precision(self) -> float | None:
        """Share of its problems that were right; None when it told of none."""
        told = self.found + self.false
        return self.found / told if told else None

    @property
    def recall(self) -> float | None:
        """Share of its faults that it found; None when there was none."""
        faults = self.found + self.missed
        return self.found / faults if faults else None

    def add(self, other: "Tally") -> None:
        """Count what another one counted too."""
        self.found += other.found
        self.missed += other.missed
        self.false += other.false


@dataclass(slots=True)
class Scores:
    """One set of samples."""

    num_samples: int = 0
    num_decided: int = 0
    """With the right decision."""
    num_faulty: int = 0
    num_led: int = 0
    """With the right check in front, of those with a fault."""
    num_healthy: int = 0
    num_alarmed: int = 0
    """Healthy ones with a decision other than go, or with a problem that is more than a note."""
    checks: dict[str, Tally] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    """Every sample that is not answered right, in words."""

    def overall(self) -> Tally:
        """All checks together."""
        total = Tally()
        for tally in self.checks.values():
            total.add(tally)
        return total


def score(samples: Iterable[Sample]) -> Scores:
    """The scores of a set."""
    scores = Scores()
    for sample in samples:
        _count(sample, scores)
    return scores


def _count(sample: Sample, scores: Scores) -> None:
    label, action = sample.label, sample.report.decision.action
    found = [one for one in sample.report.findings if one.verdict is Verdict.PROBLEM and _is_judged(one, sample)]
    grave = [one.check for one in found if one.severity is not Severity.NOTE and one.symptom_of is None]
    scores.num_samples += 1
    scores.num_decided += action in label.decision
    wrong = [] if action in label.decision else [f"decision {action}, not {' or '.join(label.decision)}"]
    if label.leads:
        scores.num_faulty += 1
        leader = next((one.check for one in found), "nothing")
        scores.num_led += leader in label.leads
        wrong += [] if leader in label.leads else [f"{leader} leads, not {' or '.join(label.leads)}"]
    elif label.decision == (Action.GO,) or sample.judged:
        scores.num_healthy += 1
        alarmed = bool(grave) or (sample.judged is None and action is not Action.GO)
        scores.num_alarmed += alarmed
    false = _false(sample, found, grave)
    _by_check(sample, {one.check for one in found}, false, scores)
    wrong += [f"{check} is a false alarm" for check in sorted(false)]
    if wrong:
        scores.faults.append(f"{sample.name}: {'; '.join(wrong)}")


def _is_judged(finding: Finding, sample: Sample) -> bool:
    return sample.judged is None or finding.check in sample.judged


def _false(sample: Sample, found: list[Finding], grave: list[str]) -> set[str]:
    """Problems that are none; a note is only false where the label forbids it."""
    right = {*sample.label.leads, *sample.label.may_also}
    return {check for check in grave if check not in right} | {
        one.check for one in found if one.check in sample.label.must_not
    }


def _by_check(sample: Sample, found: set[str], false: set[str], scores: Scores) -> None:
    leads = sample.label.leads
    told = [check for check in leads if check in found]
    for check in told or leads[:1]:
        tally = scores.checks.setdefault(check, Tally())
        tally.found += bool(told)
        tally.missed += not told
    for check in false:
        scores.checks.setdefault(check, Tally()).false += 1
