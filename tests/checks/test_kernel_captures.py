"""Real logs of other people's machines, with the diagnosis that people gave them (evidence/INDEX.tsv, E041 to E046)."""

from pathlib import Path

import pytest

from rigwise.engine import diagnose
from rigwise.knowledge.check_catalogue import check_catalogue
from rigwise.probes.kernel.kernel_events import FABRIC_MANAGER_LOG
from rigwise.records.finding import Action, CheckReport, Severity, Verdict
from rigwise.sources.pasted import PastedSource, Pieces

RIGHT: dict[str, tuple[Action, dict[str, Severity]]] = {
    "dmesg_xid119_gsp": (Action.STOP, {"xid_driver": Severity.SERIOUS}),
    "dmesg_oom_xid13_43": (
        Action.GO_WITH_CARE,
        {"xid_application": Severity.WARNING, "out_of_ram_killed": Severity.WARNING},
    ),
    "dmesg_nccl_segfault": (Action.GO_WITH_CARE, {"library_crash": Severity.WARNING}),
    "fabricmanager_sxid12028": (Action.GO_WITH_CARE, {"sxid_nonfatal": Severity.WARNING}),
    "kmsg_peermem": (Action.GO_WITH_CARE, {"peermem_invalid": Severity.WARNING}),
    "kmsg_benign": (Action.GO, {}),
}


def diagnosed(capture: Path) -> CheckReport:
    text = capture.read_text(encoding="utf-8")
    is_fabric = capture.stem.startswith("fabricmanager")
    pieces = Pieces(files={FABRIC_MANAGER_LOG: text}) if is_fabric else Pieces(kernel_log=text)
    return diagnose(PastedSource(capture.name, pieces))


@pytest.mark.parametrize("name", RIGHT)
def test_a_log_alone_gives_the_diagnosis_people_gave_it(name: str, shared: Path) -> None:
    report = diagnosed(shared / "evidence" / f"{name}.log")
    problems = {one.check: one.severity for one in report.findings if one.verdict is Verdict.PROBLEM}
    assert (report.decision.action, problems) == RIGHT[name]


def test_two_causes_stand_side_by_side(shared: Path) -> None:
    report = diagnosed(shared / "evidence" / "dmesg_oom_xid13_43.log")
    found = [one for one in report.findings if one.verdict is Verdict.PROBLEM]
    assert [one.symptom_of for one in found] == [None, None]
    assert "16 times" in found[0].because
    assert not any("replace" in step for one in found for step in one.next_steps)


def test_a_fabric_managers_log_says_nothing_of_the_kernel(shared: Path) -> None:
    report = diagnosed(shared / "evidence" / "fabricmanager_sxid12028.log")
    verdicts = {one.check: one.verdict for one in report.findings if one.check in check_catalogue()}
    assert verdicts["sxid_fatal"] is Verdict.OK
    assert verdicts["xid_memory"] is Verdict.UNKNOWN
