from report.sample_run import finding, healthy_check, stopping_check

from rigwise.records.finding import Action, CheckReport, Decision, Verdict
from rigwise.report.causes import Arranged, arrange

STOP = Decision(action=Action.STOP, because="", next_steps=())


def names(arranged: Arranged) -> list[tuple[str, list[str]]]:
    return [(cause.finding.check, [each.check for each in cause.symptoms]) for cause in arranged.causes]


def test_symptoms_are_folded_under_their_cause() -> None:
    assert names(arrange(stopping_check())) == [
        ("gpu_lost", ["vram_unreadable", "framework_sees_fewer_gpus"]),
        ("pcie_narrow", []),
    ]


def test_unknown_and_ok_stand_apart() -> None:
    arranged = arrange(healthy_check())
    assert [each.check for each in arranged.unknown] == ["kernel_log"]
    assert [each.check for each in arranged.ok] == ["hot_gpu", "ram_and_swap"]


def test_an_unknown_that_follows_from_a_problem_is_a_symptom() -> None:
    lost = finding("gpu_lost", Verdict.PROBLEM)
    unread = finding("hot_gpu", Verdict.UNKNOWN, symptom_of="gpu_lost")
    arranged = arrange(CheckReport(decision=STOP, findings=(lost, unread)))
    assert names(arranged) == [("gpu_lost", ["hot_gpu"])]
    assert arranged.unknown == ()


def test_faults_and_missing_answers_among_the_symptoms_are_told_apart() -> None:
    lost, narrow = arrange(stopping_check()).causes
    assert [each.check for each in lost.problems] == ["framework_sees_fewer_gpus"]
    assert [each.check for each in lost.unanswered] == ["vram_unreadable"]
    assert narrow.problems == narrow.unanswered == ()


def test_symptoms_are_folded_once_when_a_cause_hits_two_gpus() -> None:
    causes = (
        finding("gpu_lost", Verdict.PROBLEM, target="GPU 0"),
        finding("gpu_lost", Verdict.PROBLEM, target="GPU 1"),
    )
    symptom = finding("vram_unreadable", Verdict.PROBLEM, symptom_of="gpu_lost")
    arranged = arrange(CheckReport(decision=STOP, findings=(*causes, symptom)))
    assert names(arranged) == [("gpu_lost", ["vram_unreadable"]), ("gpu_lost", [])]


def test_no_finding_is_ever_dropped() -> None:
    """Chains, circles and causes that are not there: each finding still has exactly one place."""
    findings = (
        finding("a", Verdict.PROBLEM, symptom_of="b"),
        finding("b", Verdict.PROBLEM, symptom_of="a"),
        finding("c", Verdict.PROBLEM),
        finding("d", Verdict.PROBLEM, symptom_of="c"),
        finding("e", Verdict.PROBLEM, symptom_of="d"),
        finding("f", Verdict.UNKNOWN, symptom_of="absent"),
        finding("g", Verdict.OK, symptom_of="c"),
    )
    arranged = arrange(CheckReport(decision=STOP, findings=findings))
    placed = [name for cause, symptoms in names(arranged) for name in (cause, *symptoms)]
    placed += [each.check for each in (*arranged.unknown, *arranged.ok)]
    assert sorted(placed) == list("abcdefg")
