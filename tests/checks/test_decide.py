"""The decision from findings alone; no machine and no check is involved."""

import msgspec

from rigwise.decide import decide
from rigwise.records.evidence import Quote, Status
from rigwise.records.finding import RIG, Action, Finding, Severity, Verdict


def finding(check: str, verdict: Verdict = Verdict.PROBLEM, **changes: object) -> Finding:
    plain = Finding(
        check=check,
        target=RIG,
        title=f"Title of {check}",
        verdict=verdict,
        severity=Severity.SERIOUS,
        because="because",
        evidence=(Quote("source", "text"),),
        next_steps=(f"step of {check}",),
    )
    return msgspec.structs.replace(plain, **changes)


def test_the_first_cause_leads_and_its_symptoms_follow_it() -> None:
    report = decide([finding("no_gpu_listed"), finding("driver_missing"), finding("gpu_absent")])
    assert [(one.check, one.symptom_of) for one in report.findings] == [
        ("gpu_absent", None),
        ("no_gpu_listed", "gpu_absent"),
        ("driver_missing", "gpu_absent"),
    ]
    assert report.decision.because == "Title of gpu_absent"
    assert report.decision.next_steps == ("step of gpu_absent",)


def test_a_problem_of_one_gpu_explains_nothing_on_another() -> None:
    report = decide([finding("hot_gpu", target="GPU 0"), finding("clocks_held_back", target="GPU 1")])
    assert [one.symptom_of for one in report.findings] == [None, None]
    same = decide([finding("hot_gpu", target="GPU 0"), finding("clocks_held_back", target="GPU 0")])
    assert [one.symptom_of for one in same.findings] == [None, "hot_gpu"]


def test_the_gravest_cause_leads() -> None:
    report = decide([finding("ram_low", severity=Severity.WARNING), finding("hot_gpu", target="GPU 0")])
    assert report.findings[0].check == "hot_gpu"
    assert report.decision.because == "GPU 0: Title of hot_gpu"


def test_a_cause_is_as_grave_as_its_gravest_symptom() -> None:
    cause = finding("ram_low", severity=Severity.NOTE)
    symptom = finding("swapping")
    report = decide([finding("vram_held", severity=Severity.WARNING), cause, symptom])
    assert [one.check for one in report.findings] == ["ram_low", "swapping", "vram_held"]
    assert report.decision.action is Action.STOP


def test_serious_stops_a_warning_asks_for_care_a_note_goes() -> None:
    decisions = {severity: decide([finding("ram_low", severity=severity)]).decision.action for severity in Severity}
    assert decisions == {
        Severity.NOTE: Action.GO,
        Severity.WARNING: Action.GO_WITH_CARE,
        Severity.SERIOUS: Action.STOP,
    }


def test_go_leads_to_the_smoke_test() -> None:
    assert decide([finding("hot_gpu", Verdict.OK)]).decision.next_steps == ("rigwise smoke",)


def test_an_essential_unknown_decides_nothing_unless_there_is_a_problem() -> None:
    unknown = finding("no_gpu_listed", Verdict.UNKNOWN, absence=Status.TIMED_OUT)
    fine = finding("hot_gpu", Verdict.OK)
    assert decide([unknown, fine]).decision.action is Action.CANNOT_TELL
    assert decide([unknown, fine]).decision.next_steps == ("step of no_gpu_listed",)
    assert decide([unknown, finding("hot_gpu")]).decision.action is Action.STOP


def test_an_unknown_that_is_not_essential_does_not_hold_anyone_up() -> None:
    unknown = finding("kernel_failed", Verdict.UNKNOWN, absence=Status.NOT_RECORDED)
    assert decide([unknown, finding("no_gpu_listed", Verdict.OK)]).decision.action is Action.GO


def test_what_a_fault_hides_is_folded_and_what_was_not_recorded_is_not() -> None:
    lost = finding("hot_gpu", Verdict.UNKNOWN, target="GPU 1", absence=Status.LOST)
    unrecorded = finding("vram_held", Verdict.UNKNOWN, target="GPU 1", absence=Status.NOT_RECORDED)
    report = decide([finding("gpu_lost", target="GPU 1"), lost, unrecorded])
    assert [one.symptom_of for one in report.findings] == [None, "gpu_lost", None]


def test_nothing_is_lost_or_doubled() -> None:
    findings = [
        finding("gpu_lost", target="GPU 1"),
        finding("gpu_lost", target="GPU 2"),
        finding("framework_sees_no_gpu"),
        finding("hot_gpu", Verdict.OK, target="GPU 0"),
        finding("hot_gpu", Verdict.UNKNOWN, target="GPU 1", absence=Status.LOST),
    ]
    report = decide(findings)
    assert sorted((one.check, one.target) for one in report.findings) == sorted(
        (one.check, one.target) for one in findings
    )


def test_the_headline_names_a_gpu_by_its_index_alone() -> None:
    report = decide([finding("hot_gpu", target="GPU 0 (NVIDIA GeForce RTX 3090, 0000:01:00.0)")])
    assert report.decision.because == "GPU 0: Title of hot_gpu"


def test_go_counts_every_finding_once() -> None:
    findings = [
        finding("hot_gpu", Verdict.OK, target="GPU 0"),
        finding("hot_gpu", Verdict.OK, target="GPU 1"),
        finding("vram_held", severity=Severity.NOTE),
        finding("gpu_left_out", Verdict.UNKNOWN, absence=Status.NOT_RECORDED),
        finding("vram_unaccounted", Verdict.UNKNOWN, absence=Status.NOT_SUPPORTED),
    ]
    assert decide(findings).decision.because == "2 checks found no problem, 1 note, 1 without an answer"
    assert decide(findings[:2]).decision.because == "2 checks found no problem"


def test_who_cannot_tell_always_names_a_command() -> None:
    unreadable = finding("no_gpu_listed", Verdict.UNKNOWN, absence=Status.UNREADABLE, next_steps=())
    decision = decide([unreadable]).decision
    assert (decision.because, decision.next_steps) == ("because", ("rigwise check --all",))


def test_a_part_of_the_evidence_without_a_problem_is_go_and_says_that_it_is_a_part() -> None:
    unknown = finding("no_gpu_listed", Verdict.UNKNOWN, absence=Status.NOT_RECORDED)
    decision = decide([unknown, finding("hot_gpu", Verdict.OK)]).decision
    assert decision.action is Action.GO
    assert "what was given" in decision.because
    assert decide([unknown]).decision.action is Action.CANNOT_TELL


def test_a_symptom_stands_below_the_cause_on_its_own_gpu() -> None:
    told = [("hot_gpu", "GPU 0"), ("hot_gpu", "GPU 1"), ("clocks_held_back", "GPU 1"), ("clocks_held_back", "GPU 0")]
    report = decide([finding(check, target=target) for check, target in told])
    assert [(one.check, one.target) for one in report.findings] == [told[0], told[3], told[1], told[2]]
