import io

import pytest
from report.sample_run import cpu_run, empty_run, finding, gpu_run, healthy_check, stopping_check, trial
from rich.console import Console, RenderableType

from rigwise.records.evidence import Quote
from rigwise.records.finding import Action, CheckReport, Decision, Verdict
from rigwise.report.check_text import check_text
from rigwise.report.text import comparison_table


def shown(what: RenderableType, width: int = 80, color_system: str | None = None) -> str:
    screen = io.StringIO()
    Console(file=screen, width=width, color_system=color_system, force_terminal=color_system is not None).print(what)
    return screen.getvalue()


def test_the_decision_comes_first_and_the_first_cause_leads() -> None:
    lines = [line for line in shown(check_text(stopping_check(), "desk-rig")).splitlines() if line.strip()]
    assert lines[0].split("   ")[0] == "STOP"
    assert "GPU 1 fell off the bus 14 minutes ago" in lines[0]
    assert "desk-rig" in lines[1]
    assert "first cause" in lines[2]


def test_evidence_is_quoted_with_its_source_apart_from_our_words() -> None:
    lines = shown(check_text(stopping_check(), "rig"), width=160).splitlines()
    quote = next(line for line in lines if "Xid" in line)
    assert "| kernel log: NVRM: Xid (PCI:0000:41:00): 79" in quote
    assert "usually power" not in quote


def test_symptoms_are_folded_into_one_line_and_passing_checks_into_a_count() -> None:
    text = shown(check_text(stopping_check(), "rig"))
    assert "vram_unreadable, framework_sees_fewer_gpus (folded)" in text
    assert "problems 2 · symptoms 2 · unknown 1 · ok 2" in text
    assert "hot_gpu" not in text


def test_all_lists_the_passing_checks() -> None:
    assert "hot_gpu · GPU 0" in shown(check_text(healthy_check(), "rig", show_all=True))


def test_an_unknown_says_why_and_what_would_make_it_known() -> None:
    text = shown(check_text(healthy_check(), "rig"))
    assert "kernel_log · rig" in text
    assert "not permitted" in text
    assert "sudo dmesg" in text


def test_many_unknowns_are_counted_not_scrolled() -> None:
    unknown = tuple(finding(f"check_{number}", Verdict.UNKNOWN) for number in range(9))
    decision = Decision(action=Action.CANNOT_TELL, because="nothing answered", next_steps=("sudo rigwise check",))
    report = CheckReport(decision=decision, findings=unknown)
    text = shown(check_text(report, "rig"))
    assert "CANNOT TELL" in text
    assert "sudo rigwise check" in text
    assert "unknown 9" in text
    assert "check_8" not in text
    assert "check_8" in shown(check_text(report, "rig", show_all=True))


@pytest.mark.parametrize("width", [60, 80, 140])
def test_nothing_is_wider_than_the_screen(width: int) -> None:
    for what in (check_text(stopping_check(), "rig " * 60), comparison_table(gpu_run()), comparison_table(cpu_run())):
        assert max(len(line) for line in shown(what, width).splitlines()) <= width


def test_colour_repeats_the_word() -> None:
    coloured = shown(check_text(stopping_check(), "rig"), color_system="standard")
    assert "\x1b[1;31mSTOP\x1b[0m" in coloured
    assert "\x1b" not in shown(check_text(stopping_check(), "rig"))


def test_evidence_cannot_act_on_the_terminal_or_as_markup() -> None:
    hostile = finding("odd", Verdict.PROBLEM, evidence=(Quote("file", "\x1b[2J[red]not markup[/red]"),))
    report = CheckReport(decision=Decision(action=Action.STOP, because="", next_steps=()), findings=(hostile,))
    text = shown(check_text(report, "rig"))
    assert "\x1b" not in text
    assert "[red]not markup[/red]" in text


@pytest.mark.parametrize("width", [50, 80, 100, 140])
def test_the_comparison_has_every_number_once_at_any_width(width: int) -> None:
    distinct = trial("fp32", step_mean_seconds=1.01, step_p95_seconds=1.02, images_per_second=103,
                     data_wait_ratio=0.104, peak_allocated_bytes=int(1.05 * 2**30),
                     peak_reserved_bytes=int(1.06 * 2**30), gpu_utilization_ratio=0.107, temperature_celsius=10.8,
                     power_draw_watts=109)  # fmt: skip
    text = shown(comparison_table(gpu_run(trials=(distinct,), steps=())), width)
    numbers = ["1.01", "1.02", "103", "10.4", "1.05", "1.06", "10.7", "10.8", "109", "82.0 (76.1-86.7)", "GiB of 24.0"]
    assert [text.count(number) for number in numbers] == [1] * len(numbers)


def test_the_comparison_says_what_did_not_run_and_what_was_not_measured() -> None:
    text = shown(comparison_table(cpu_run()), 140)
    assert "cuda one batch  not run: no NVIDIA GPU: Driver Not Loaded" in text
    assert "not measured in any trial: peak allocated, peak reserved, GPU, temp, power" in text
    assert "take this: bf16" in text


def test_no_trial_is_said() -> None:
    assert "no trial was run" in shown(comparison_table(empty_run()))


def test_trials_none_of_which_ran_still_say_why() -> None:
    run = gpu_run(trials=(trial("fp32", not_run="no room"),), steps=(), recommendation=None)
    assert "not run: no room" in shown(comparison_table(run))
