"""Real captures of other people's machines, with the diagnosis that people gave them (evidence/INDEX.tsv)."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from rigwise.engine import diagnose
from rigwise.records.evidence import Evidence, Status
from rigwise.records.finding import Action, CheckReport, Severity, Verdict
from rigwise.sources.answers import (
    command_answer,
    command_key,
    file_answer,
    kernel_log_answer,
    nvml_absence,
    program_output_answer,
)

HEALTHY = {
    "smi_a100_mig_535": {"gpu_count_incomplete"},
    "smi_gtx1070ti_oldschema": set(),
    "smi_quadro_p400_418": set(),
    "smi_rtx3080_passthrough_536": {"power_limit_raised"},
    "smi_t4_vm_515": {"vram_held"},
    "smi_rtx4000sff_ada_595": {"vram_held", "vram_unaccounted"},
    "smi_a100_570": set(),
    "smi_gb200x4_grace": set(),
    "smi_t4_595_1ce": set(),
    "smi_gb200_throttle_counters": set(),
}
"""What may be noted of each, besides the end of life of its driver's branch, which depends on its date."""


class OneAnswer:
    """A source that holds a single answer, as a pasted text does."""

    name = "one answer"

    def __init__(self, smi: str = "", kernel_log: str = "") -> None:
        self._smi = smi
        self._kernel_log = kernel_log

    def nvml(self, name: str, gpu: int | None = None) -> Evidence:
        return nvml_absence(name, gpu, Status.NOT_RECORDED)

    def command(self, argv: Sequence[str], *, key: str | None = None, timeout_seconds: float = 10.0) -> Evidence:
        name = command_key(argv, key)
        if self._smi and name == "nvidia-smi -q -x":
            return command_answer(name, Status.OK, self._smi, 0)
        return command_answer(name, Status.NOT_RECORDED)

    def file(self, path: str) -> Evidence:
        return file_answer(path, Status.NOT_RECORDED)

    def program_output(self) -> Evidence:
        return program_output_answer(Status.NOT_RECORDED)

    def kernel_log(self) -> Evidence:
        status = Status.OK if self._kernel_log else Status.NOT_RECORDED
        return kernel_log_answer(command_answer("kernel log", status, self._kernel_log))


def diagnosed(capture: Path) -> CheckReport:
    text = capture.read_text(encoding="utf-8")
    return diagnose(OneAnswer(smi=text) if capture.suffix == ".xml" else OneAnswer(kernel_log=text))


def problems(report: CheckReport) -> dict[str, Severity]:
    return {one.check: one.severity for one in report.findings if one.verdict is Verdict.PROBLEM}


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_machine_is_left_alone(name: str, shared: Path) -> None:
    report = diagnosed(shared / "evidence" / f"{name}.xml")
    assert report.decision.action is Action.GO
    assert set(problems(report)) - {"driver_end_of_life"} == HEALTHY[name]
    assert set(problems(report).values()) <= {Severity.NOTE}


def test_held_vram_names_its_holders(shared: Path) -> None:
    report = diagnosed(shared / "evidence" / "smi_rtx4000sff_ada_595.xml")
    held = next(one for one in report.findings if one.check == "vram_held")
    for holder in ("cosmic-comp (PID 1842", "code (PID 3190", "python (PID 4937", "chromium (PID 34626"):
        assert holder in held.because


def test_a_lost_gpu_stops(shared: Path) -> None:
    report = diagnosed(shared / "evidence" / "smi_gb200_gpu_lost.xml")
    assert report.decision.action is Action.STOP
    first = report.findings[0]
    assert (first.check, first.target) == ("gpu_lost", "GPU 1 (NVIDIA GB200, 0000:0b:00.0)")
    assert any("GPU is lost" in quote.text for quote in first.evidence)
    hot = {one.target[:5]: one.verdict for one in report.findings if one.check == "hot_gpu"}
    assert hot == {"GPU 0": Verdict.OK, "GPU 1": Verdict.UNKNOWN}


@pytest.mark.parametrize("name", ["kmsg_benign", "kmsg_peermem", "dmesg_oom_xid13_43", "dmesg_nccl_segfault"])
def test_a_kernel_log_without_a_lost_gpu_is_no_proof_of_anything(name: str, shared: Path) -> None:
    report = diagnosed(shared / "evidence" / f"{name}.log")
    assert not problems(report)
    assert report.decision.action is Action.CANNOT_TELL
    assert report.decision.next_steps


def test_a_hostile_log_does_no_harm() -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><nvidia_smi_log><gpu id="&b;"/></nvidia_smi_log>'
    for text in (bomb, "<nvidia_smi_log>", "<nvidia_smi_log/>", "<nvidia_smi_log><gpu/></nvidia_smi_log>", "\0"):
        assert diagnose(OneAnswer(smi=text)).decision.action in (Action.CANNOT_TELL, Action.GO)
