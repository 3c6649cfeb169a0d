"""Real captures of other people's machines, with the diagnosis that people gave them (evidence/INDEX.tsv)."""

from pathlib import Path

import pytest
from checks.captured import Answers, outputs

from rigwise.engine import diagnose
from rigwise.probes.rig import read_rig
from rigwise.records.finding import Action, CheckReport, Severity, Verdict
from rigwise.records.gpu import Gpu

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


def diagnosed(capture: Path) -> CheckReport:
    text = capture.read_text(encoding="utf-8")
    return diagnose(Answers({"nvidia-smi -q -x": text}) if capture.suffix == ".xml" else Answers({}, text))


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
    failed = next(one for one in report.findings if one.check == "row_remap_failed" and one.verdict is Verdict.PROBLEM)
    assert (failed.target, failed.symptom_of) == ("GPU 0 (NVIDIA GB200, 0000:0a:00.0)", None)
    hot = {one.target[:5]: one.verdict for one in report.findings if one.check == "hot_gpu"}
    assert hot == {"GPU 0": Verdict.OK, "GPU 1": Verdict.UNKNOWN}


def test_a_failed_remap_stops(shared: Path) -> None:
    report = diagnosed(shared / "evidence" / "smi_gb200_ecc_uncorrectable.xml")
    assert report.decision.action is Action.STOP
    first = report.findings[0]
    assert (first.check, first.target) == ("row_remap_failed", "GPU 0 (NVIDIA GB200, 0000:0a:00.0)")
    assert "replaced" in first.next_steps[0]
    errors = next(one for one in report.findings if one.check == "ecc_uncorrected")
    assert (errors.verdict, errors.symptom_of) == (Verdict.PROBLEM, "row_remap_failed")


CAPTURES = (
    "capture_h100_gpuburn_590",
    "capture_h200_mig_590",
    "capture_rtx2080super_linux_595",
    "capture_rtx2080super_windows_591",
    "capture_rtx4080super_linux_595",
)


@pytest.mark.parametrize("name", CAPTURES)
def test_a_healthy_machine_captured_idle_and_loaded(name: str, shared: Path) -> None:
    report = diagnose(Answers(outputs(shared / "evidence" / f"{name}.txt")))
    assert report.decision.action is Action.GO
    assert problems(report) == {}


@pytest.mark.parametrize("name", CAPTURES)
def test_every_output_of_a_capture_tells_of_the_same_gpu(name: str, shared: Path) -> None:
    """The text of a query is exact: whatever another output tells as well must agree with it."""
    texts = outputs(shared / "evidence" / f"{name}.txt")
    for key, text in texts.items():
        (exact,) = read_rig(Answers({"nvidia-smi -q": texts["nvidia-smi -q"]})).gpus
        for gpu in read_rig(Answers({key: text})).gpus:
            assert_agree(gpu, exact)


def assert_agree(gpu: Gpu, exact: Gpu) -> None:
    for field in ("pci_bus_id", "uuid", "memory_total_bytes", "compute_capability", "mig_enabled", "vbios"):
        told, known = getattr(gpu, field).value, getattr(exact, field).value
        assert told in (None, known), field
    name = (gpu.name.value or "").removesuffix("...").strip()
    assert (exact.name.value or "").startswith(name)


LOGS = {
    "kmsg_benign": set(),
    "kmsg_peermem": {"peermem_invalid"},
    "dmesg_oom_xid13_43": {"xid_application", "out_of_ram_killed"},
    "dmesg_nccl_segfault": {"library_crash"},
}


@pytest.mark.parametrize("name", LOGS)
def test_a_kernel_log_without_a_lost_gpu_blames_no_gpu(name: str, shared: Path) -> None:
    report = diagnosed(shared / "evidence" / f"{name}.log")
    assert set(problems(report)) == LOGS[name]
    assert report.decision.action is (Action.GO_WITH_CARE if LOGS[name] else Action.GO)
    assert report.decision.next_steps


def test_a_hostile_log_does_no_harm() -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><nvidia_smi_log><gpu id="&b;"/></nvidia_smi_log>'
    for text in (bomb, "<nvidia_smi_log>", "<nvidia_smi_log/>", "<nvidia_smi_log><gpu/></nvidia_smi_log>", "\0"):
        assert diagnose(Answers({"nvidia-smi -q -x": text})).decision.action in (Action.CANNOT_TELL, Action.GO)
