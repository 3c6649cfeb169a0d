import msgspec
import torch

from rigwise.records.evidence import Quote, Status
from rigwise.records.finding import Action, CheckReport, Decision, Finding, Severity, Verdict
from rigwise.train.conditions import make_repeatable, why_no_gpu
from rigwise.train.preparation import MOST_LOADER_THREADS, resolve
from rigwise.train.recipe_sections import CpuSection, LoaderSection, Recipe
from rigwise.train.step.device import CpuDevice


def report(*findings: Finding) -> CheckReport:
    decision = Decision(action=Action.STOP, because="", next_steps=())
    return CheckReport(decision=decision, findings=findings)


def finding(check: str, verdict: Verdict, because: str, symptom_of: str | None = None) -> Finding:
    return Finding(
        check=check,
        target="rig",
        title=check,
        verdict=verdict,
        severity=Severity.SERIOUS,
        because=because,
        evidence=(Quote("file", "text"),),
        next_steps=(),
        absence=Status.NOT_FOUND if verdict is Verdict.UNKNOWN else None,
        symptom_of=symptom_of,
    )


def test_the_first_cause_says_why_there_is_no_gpu() -> None:
    found = report(
        finding("framework_sees_no_gpu", Verdict.PROBLEM, "torch sees none", symptom_of="driver_not_loaded"),
        finding("driver_not_loaded", Verdict.PROBLEM, "the module is not loaded"),
    )
    assert why_no_gpu(found) == "the module is not loaded"


def test_a_note_explains_nothing() -> None:
    note = msgspec.structs.replace(finding("power_limit_raised", Verdict.PROBLEM, "raised"), severity=Severity.NOTE)
    assert why_no_gpu(report(note)) != "raised"


def test_without_a_cause_torch_speaks_for_itself() -> None:
    assert torch.__version__ in why_no_gpu(report(finding("hot_gpu", Verdict.UNKNOWN, "not read")))


def test_zeros_are_resolved_to_this_machine_and_numbers_kept() -> None:
    resolved = resolve(Recipe())
    assert resolved.cpu.num_threads >= 1
    assert 1 <= resolved.loader.num_threads <= MOST_LOADER_THREADS
    asked = Recipe(cpu=CpuSection(num_threads=3), loader=LoaderSection(num_threads=5))
    assert resolve(asked) == asked


def test_threads_and_determinism_follow_the_recipe() -> None:
    before = torch.get_num_threads()
    try:
        make_repeatable(Recipe(cpu=CpuSection(num_threads=1)), CpuDevice())
        assert torch.get_num_threads() == 1
        assert torch.are_deterministic_algorithms_enabled()
    finally:
        torch.set_num_threads(before)
        torch.use_deterministic_algorithms(False)
