import io
import re

import msgspec
import pytest
from report.sample_run import cpu_run, empty_run, finding, gpu_run, healthy_check, skipped, stopping_check, trial
from rich.console import Console, RenderableType

from rigwise.records.evidence import Quote, Status
from rigwise.records.finding import Action, CheckReport, Decision, Finding, Severity, Verdict
from rigwise.report.check_text import MAX_QUOTED_LINES, check_text
from rigwise.report.overview_text import overview_text
from rigwise.report.run_text import run_text
from rigwise.report.text import comparison_table

STOP = Decision(action=Action.STOP, because="It is broken", next_steps=("Mend it.", "sudo mend"))


def shown(what: RenderableType, width: int = 80, color_system: str | None = None) -> str:
    screen = io.StringIO()
    console = Console(file=screen, width=width, color_system=color_system, force_terminal=color_system is not None)
    console.print(what, crop=False)
    return screen.getvalue()


def lines_of(what: RenderableType, width: int = 80) -> list[str]:
    return [line.rstrip() for line in shown(what, width).splitlines()]


def stopped_by(*findings: Finding) -> CheckReport:
    return CheckReport(decision=STOP, findings=findings)


def counts_in(what: RenderableType) -> tuple[int, dict[str, int]]:
    """The total of the last lines, and what it is made of."""
    total, parts = re.search(r"(\d+) checks: (.*)", shown(what, 200)).groups()  # type: ignore[union-attr]
    pairs = (part.rsplit(" ", 1) for part in parts.strip().split(" · "))
    return int(total), {name: int(count) for name, count in pairs}


def test_the_decision_comes_first_and_the_first_cause_leads() -> None:
    lines = [line for line in lines_of(check_text(stopping_check(), "desk-rig")) if line]
    assert lines[0] == "STOP   GPU 1 fell off the bus 14 minutes ago"
    assert lines[1] == "  desk-rig"
    assert lines[2] == "  first cause   gpu_lost · GPU 1 (RTX 4090, 0000:41:00.0)"


def test_the_last_line_is_the_next_command_alone() -> None:
    for what in (check_text(stopping_check(), "rig"), overview_text(stopping_check(), ("rig",))):
        assert lines_of(what)[-2:] == ["", "  next  rigwise check --only gpu_lost"]
    assert "Power the machine off and reseat the card." in shown(overview_text(stopping_check(), ("rig",)))


def test_the_next_command_is_said_once_unless_it_is_one_of_several() -> None:
    lines = lines_of(check_text(stopping_check(), "rig"))
    assert [line.strip() for line in lines if "--only gpu_lost" in line] == ["next  rigwise check --only gpu_lost"]
    two = finding("broken", Verdict.PROBLEM, next_steps=("Mend it.", "sudo mend", "sudo replace"))
    listed = [line.strip() for line in lines_of(check_text(stopped_by(two), "rig")) if "sudo" in line]
    assert listed == ["sudo mend", "sudo replace", "next  sudo mend"]


def test_a_command_is_never_broken() -> None:
    command = "rigwise train DATA " + "--recipe a-long-name.toml " * 4 + "--json"
    decision = msgspec.structs.replace(STOP, next_steps=("Mend it.", command))
    advice = msgspec.structs.replace(gpu_run().recommendation, next_step=command)
    report = CheckReport(decision=decision, findings=())
    for what in (overview_text(report, ()), check_text(report, ""), run_text(gpu_run(recommendation=advice), "p")):
        assert lines_of(what, 40)[-1] == f"  next  {command}"


def test_evidence_is_quoted_with_its_source_apart_from_our_words() -> None:
    lines = shown(check_text(stopping_check(), "rig"), width=160).splitlines()
    quote = next(line for line in lines if "Xid" in line)
    assert "| kernel log: NVRM: Xid (PCI:0000:41:00): 79" in quote
    assert "usually power" not in quote


def test_long_evidence_is_cut_where_it_says_so_and_whole_with_all() -> None:
    devices = [f"00{number:02} 10de2684" for number in range(20)]
    report = stopped_by(finding("odd", Verdict.PROBLEM, evidence=(Quote("/proc/x", "\n".join(devices)),)))
    lines = [line.strip() for line in lines_of(check_text(report, "rig"))]
    assert [line for line in lines if "10de" in line] == [f"| {device}" for device in devices[:MAX_QUOTED_LINES]]
    assert "16 more lines with --all" in lines
    everything = shown(check_text(report, "rig", show_all=True))
    assert all(device in everything for device in devices)
    assert "more lines" not in everything


def test_one_line_too_many_is_shown_rather_than_announced() -> None:
    text = "\n".join(f"line {number}" for number in range(MAX_QUOTED_LINES + 1))
    shown_text = shown(check_text(stopped_by(finding("odd", Verdict.PROBLEM, evidence=(Quote("f", text),))), "rig"))
    assert f"line {MAX_QUOTED_LINES}" in shown_text
    assert "more lines" not in shown_text


def test_faults_that_follow_are_named_and_missing_answers_counted() -> None:
    lines = lines_of(check_text(stopping_check(), "rig"))
    position = lines.index("  its symptoms  framework_sees_fewer_gpus · About framework_sees_fewer_gpus")
    assert lines[position + 1].strip() == "1 check has no answer because of it"
    assert "vram_unreadable" not in "\n".join(lines)
    assert "vram_unreadable · GPU 1" in shown(check_text(stopping_check(), "rig", show_all=True))
    assert "hot_gpu" not in "\n".join(lines)


def test_the_counts_add_up_to_every_finding() -> None:
    total, counts = counts_in(check_text(stopping_check(), "rig"))
    assert total == sum(counts.values()) == len(stopping_check().findings)
    assert counts == {"problems": 1, "notes": 1, "symptoms": 1, "folded": 1, "unknown": 1, "ok": 2}


def test_what_a_device_does_not_have_is_no_unknown() -> None:
    unmeasured = finding("vram_unaccounted", Verdict.UNKNOWN, absence=Status.NOT_SUPPORTED)
    what = check_text(CheckReport(decision=healthy_check().decision, findings=(unmeasured,)), "rig")
    assert counts_in(what) == (1, {"not applicable": 1})
    assert "vram_unaccounted" not in shown(what)


def test_a_note_beside_something_graver_is_told_without_its_evidence() -> None:
    note = finding("vram_held", Verdict.PROBLEM, severity=Severity.NOTE, evidence=(Quote("nvidia-smi", "9 GiB"),))
    beside = stopped_by(finding("broken", Verdict.PROBLEM), note)
    assert "9 GiB" not in shown(check_text(beside, "rig"))
    assert "9 GiB" in shown(check_text(beside, "rig", show_all=True))
    alone = CheckReport(decision=healthy_check().decision, findings=(note,))
    assert "9 GiB" in shown(check_text(alone, "rig"))
    assert "first cause" not in shown(check_text(alone, "rig"))


def test_all_lists_the_passing_checks() -> None:
    assert "hot_gpu · GPU 0" in shown(check_text(healthy_check(), "rig", show_all=True))


def test_an_unknown_says_why_and_what_would_make_it_known() -> None:
    text = shown(check_text(healthy_check(), "rig"))
    assert "kernel_log · what was read says unknown" in text
    assert "sudo dmesg" in text


def test_unknowns_of_one_reason_are_told_once() -> None:
    alike = [
        finding(f"check_{number}", Verdict.UNKNOWN, because="Not in the evidence: PCI devices.", next_steps=("look",))
        for number in range(9)
    ]
    lines = lines_of(check_text(stopped_by(*alike), "rig"))
    assert "  unknown       9 checks · Not in the evidence: PCI devices." in lines
    assert sum(line.strip() == "look" for line in lines) == 1


def test_many_reasons_for_an_unknown_are_counted_not_scrolled() -> None:
    unknown = tuple(finding(f"check_{number}", Verdict.UNKNOWN, because=f"Reason {number}.") for number in range(9))
    report = stopped_by(*unknown)
    text = shown(check_text(report, "rig"))
    assert "5 more with --all" in text
    assert "check_8" not in text
    assert "check_8" in shown(check_text(report, "rig", show_all=True))
    assert counts_in(check_text(report, "rig")) == (9, {"unknown": 9})


@pytest.mark.parametrize("width", [60, 80, 140])
def test_nothing_but_the_next_command_is_wider_than_the_screen(width: int) -> None:
    for what in (
        check_text(stopping_check(), "rig " * 60),
        overview_text(stopping_check(), ("rig " * 60,)),
        comparison_table(gpu_run()),
        run_text(cpu_run(), "report.html"),
    ):
        lines = shown(what, width).splitlines()
        assert max(len(line) for line in lines if not line.startswith("  next  ")) <= width


def test_colour_repeats_the_word() -> None:
    coloured = shown(check_text(stopping_check(), "rig"), color_system="standard")
    assert "\x1b[1;31mSTOP\x1b[0m" in coloured
    assert "\x1b" not in shown(check_text(stopping_check(), "rig"))


def test_evidence_cannot_act_on_the_terminal_or_as_markup() -> None:
    hostile = finding("odd", Verdict.PROBLEM, evidence=(Quote("file", "\x1b[2J[red]not markup[/red]"),))
    text = shown(check_text(stopped_by(hostile), "rig"))
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
    assert "cuda one batch: not run: no NVIDIA GPU: Driver Not Loaded" in text
    assert "not measured in any trial: peak allocated, peak reserved, GPU, temp, power" in text


def test_trials_that_share_a_reason_share_a_line() -> None:
    trials = (skipped("cuda fp32", "no card"), skipped("cuda bf16", "no room"), skipped("cuda one batch", "no card"))
    lines = [line.strip() for line in lines_of(comparison_table(gpu_run(trials=trials, steps=())), 140)]
    assert [line for line in lines if "not run" in line] == [
        "cuda fp32, cuda one batch: not run: no card",
        "cuda bf16: not run: no room",
    ]


def test_the_trial_to_take_is_marked_without_colour() -> None:
    marked = [line for line in lines_of(comparison_table(gpu_run()), 140) if line.startswith(">")]
    assert [line.split()[1] for line in marked] == ["bf16"]


def test_no_trial_is_said() -> None:
    assert "no trial was run" in shown(comparison_table(empty_run()))


def test_trials_none_of_which_ran_still_say_why() -> None:
    run = gpu_run(trials=(trial("fp32", not_run="no room"),), steps=(), recommendation=None)
    assert "not run: no room" in shown(comparison_table(run))


def test_a_run_without_a_gpu_says_so_before_anything_else() -> None:
    assert lines_of(run_text(cpu_run(), "p"))[0] == "No training ran on a GPU: no NVIDIA GPU: Driver Not Loaded"
    assert shown(run_text(cpu_run(), "p")).count("Driver Not Loaded") == 2, "once first, once for the rows not run"
    assert "No training ran on a GPU" not in shown(run_text(gpu_run(), "p"))
    assert gpu_run().rig_lines[0] in shown(run_text(gpu_run(), "p"))
    assert lines_of(run_text(empty_run(), "p"))[0].startswith("The run was interrupted.")


def test_the_recommendation_is_a_name_with_its_details_below() -> None:
    advice = msgspec.structs.replace(gpu_run().recommendation, because="114 images/s.\n1.50 x the speed of fp32.")
    lines = [line.strip() for line in lines_of(run_text(gpu_run(recommendation=advice), "p"))]
    position = next(index for index, line in enumerate(lines) if line.startswith("take "))
    assert lines[position].split() == ["take", "bf16"]
    assert lines[position + 1 : position + 3] == ["114 images/s.", "1.50 x the speed of fp32."]


def test_a_run_ends_with_one_command_said_once() -> None:
    repeat = gpu_run().repeat_command
    advice = msgspec.structs.replace(gpu_run().recommendation, next_step=repeat)
    lines = lines_of(run_text(gpu_run(recommendation=advice), "p"))
    assert lines[-2:] == ["", f"  next  {repeat}"]
    assert sum(repeat in line for line in lines) == 1
    assert lines_of(run_text(gpu_run(recommendation=None, finished=False), "p"))[-1] == f"  next  {repeat}"
