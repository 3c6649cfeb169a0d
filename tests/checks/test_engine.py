import time
from io import BytesIO
from pathlib import Path

import pytest
from checks.overlay import Case, OverlaySource

from rigwise.decide import EXPLICABLE
from rigwise.engine import chosen_checks, diagnose, run_checks
from rigwise.errors import BadInput
from rigwise.probes.rig import read_rig
from rigwise.records.evidence import Status
from rigwise.records.finding import Action, Verdict
from rigwise.sources.opening import open_source
from rigwise.sources.recorded import RecordedSource

RECORDINGS = Path(__file__).parents[1] / "recordings"


def healthy() -> Case:
    return Case(why="", expect=Verdict.OK, recording="healthy_rtx4090")


def test_a_check_that_is_not_there_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(BadInput) as refused:
        chosen_checks(["hot_gpus"])
    assert "hot_gpu?" in refused.value.why


def test_only_runs_what_was_named_in_the_order_of_trust() -> None:
    assert chosen_checks(["hot_gpu", "gpu_lost"]) == ("gpu_lost", "hot_gpu")
    report = diagnose(OverlaySource(healthy()), only=["hot_gpu"])
    assert [finding.check for finding in report.findings] == ["hot_gpu"]
    assert report.decision.action is Action.GO


def test_a_wrong_name_is_refused_before_anything_is_asked() -> None:
    class Untouchable:
        name = "untouchable"

    with pytest.raises(BadInput):
        diagnose(Untouchable(), only=["nonsense"])  # type: ignore[arg-type]


def test_one_selected_check_that_cannot_tell_decides_nothing() -> None:
    case = Case(why="", expect=Verdict.OK, recording="healthy_rtx4090", absent=("framework-probe",))
    report = diagnose(OverlaySource(case), only=["kernel_failed"])
    assert report.decision.action is Action.CANNOT_TELL
    assert report.decision.next_steps


def test_every_check_says_something_of_an_empty_source() -> None:
    report = diagnose(OverlaySource(Case(why="", expect=Verdict.UNKNOWN)))
    assert {finding.check for finding in report.findings} == set(chosen_checks(()))
    assert {finding.verdict for finding in report.findings} == {Verdict.UNKNOWN}
    assert {finding.absence for finding in report.findings} == {Status.NOT_RECORDED}
    assert report.decision.action is Action.CANNOT_TELL


def test_per_gpu_checks_speak_of_every_gpu() -> None:
    findings = run_checks(read_rig(RecordedSource(RECORDINGS / "one_of_two_lost")), ["hot_gpu"])
    assert [finding.verdict for finding in findings] == [Verdict.OK, Verdict.UNKNOWN]
    assert findings[0].target.startswith("GPU 0")
    assert findings[1].target.startswith("GPU 1")
    assert findings[1].absence is Status.LOST


def test_the_machine_without_a_gpu_has_one_first_cause() -> None:
    report = diagnose(RecordedSource(RECORDINGS / "no_gpu"))
    causes = [one for one in report.findings if one.verdict is Verdict.PROBLEM and one.symptom_of is None]
    assert [cause.check for cause in causes] == ["gpu_absent"]
    assert report.decision.because == causes[0].title
    assert {one.symptom_of for one in report.findings if one.absence in EXPLICABLE} == {"gpu_absent"}


def test_findings_are_the_same_when_the_evidence_is_the_same() -> None:
    first, second = (diagnose(OverlaySource(healthy())) for _ in range(2))
    assert first == second


def test_checks_take_little_time() -> None:
    rig = read_rig(OverlaySource(healthy()))
    began = time.perf_counter()
    run_checks(rig)
    assert time.perf_counter() - began < 0.2


HEALTHY = "$ lspci\n00:00.0 Host bridge: Intel Corporation Device a700\n00:02.0 VGA compatible controller: Intel UHD\n"


def test_a_failure_in_unknown_words_is_no_go() -> None:
    traceback = 'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\nacme.FrobError: no frob\n'
    report = diagnose(open_source(["-"], BytesIO(f"{HEALTHY}$ python a.py\n{traceback}".encode())))
    assert report.decision.action is Action.CANNOT_TELL
    assert "acme.FrobError: no frob" in report.decision.because


def test_without_a_failure_the_same_text_is_go() -> None:
    report = diagnose(open_source(["-"], BytesIO(f"{HEALTHY}$ python a.py\nstep 1, no Error: yet\n".encode())))
    assert report.decision.action is Action.GO
