"""What changed between two looks at machines, and what that returns."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli.one_clear_error import assert_one_clear_error

Run = Callable[..., Any]


@pytest.fixture
def changed(recording: Callable[[str], Path], tmp_path: Path) -> Callable[..., Path]:
    """A copy of a recording with pieces of its files replaced."""

    def change(name: str, file: str = "nvml.tsv", old: str = "", new: str = "") -> Path:
        copy = tmp_path / f"{name}-{len(list(tmp_path.iterdir()))}"
        shutil.copytree(recording(name), copy)
        text = (copy / file).read_text()
        assert old in text
        (copy / file).write_text(text.replace(old, new))
        return copy

    return change


def changes(done: Any) -> list[tuple[str, str, Any, Any]]:
    return [(one["kind"], one["key"], one["before"], one["after"]) for one in json.loads(done.stdout)["changes"]]


def test_the_same_machine_twice(rigwise: Run, recording: Callable[[str], Path]) -> None:
    here = recording("healthy_rtx4090")
    done = rigwise("diff", here, here)
    assert done.returncode == 0
    assert done.stdout.startswith("THE SAME")
    report = json.loads(rigwise("diff", here, here, "--json").stdout)
    assert (report["schema"], report["changed"], report["changes"]) == ("rigwise.diff/1", False, [])
    assert report["num_equal"] > 20


def test_against_this_machine_now(rigwise: Run, recording: Callable[[str], Path]) -> None:
    done = rigwise("diff", recording("healthy_rtx4090"), machine="healthy_rtx4090")
    assert done.returncode == 0
    assert "this machine" in done.stdout
    assert done.stdout.splitlines()[-1] == "  next  rigwise check"


def test_the_most_relevant_change_leads(
    rigwise: Run, recording: Callable[[str], Path], changed: Callable[..., Path]
) -> None:
    after = changed("healthy_rtx4090", old="570.124.06", new="580.82.07")
    done = rigwise("diff", recording("healthy_rtx4090"), after)
    assert done.returncode == 1
    assert done.stdout.startswith("CHANGED   driver: 570.124.06 -> 580.82.07")
    assert done.stdout.splitlines()[-1] == f"  next  rigwise check --from {after}"


def test_a_problem_that_appeared_comes_before_what_changed(rigwise: Run, recording: Callable[[str], Path]) -> None:
    done = rigwise("diff", recording("healthy_rtx4090"), recording("one_of_two_lost"), "--json")
    assert done.returncode == 1
    found = changes(done)
    kinds = [kind for kind, *_rest in found]
    assert found[0] == ("finding", "gpu_lost", None, "serious")
    assert kinds == sorted(kinds, key=["finding", "gpu", "stack", "setting", "counter", "package", "moment"].index)
    back = changes(rigwise("diff", recording("one_of_two_lost"), recording("healthy_rtx4090"), "--json"))
    assert back[0] == ("finding", "gpu_lost", "serious", None)


def test_a_power_limit_in_watts(rigwise: Run, changed: Callable[..., Path]) -> None:
    before = changed("healthy_rtx4090")
    after = changed("healthy_rtx4090", old="EnforcedPowerLimit\t0\t450000", new="EnforcedPowerLimit\t0\t380000")
    assert "GPU 0 · power limit: 450 W -> 380 W" in rigwise("diff", before, after).stdout


def test_a_clock_that_moves_is_no_change(rigwise: Run, changed: Callable[..., Path]) -> None:
    before = changed("healthy_rtx4090")
    after = changed(
        "healthy_rtx4090", old="DeviceGetCurrPcieLinkGeneration\t0\t1", new="DeviceGetCurrPcieLinkGeneration\t0\t4"
    )
    done = rigwise("diff", before, after, "--json")
    assert done.returncode == 0
    assert changes(done) == [("moment", "pcie_link_gen", 1, 4)]


def test_another_card_in_the_same_slot_was_swapped(rigwise: Run, changed: Callable[..., Path]) -> None:
    before = changed("healthy_rtx4090")
    after = changed("healthy_rtx4090", old="GPU-4f1c2a90-7d53", new="GPU-5f1c2a90-7d53")
    (only,) = changes(rigwise("diff", before, after, "--json"))
    assert only[:2] == ("gpu", "gpu")
    assert "GPU swapped" in rigwise("diff", before, after).stdout


def test_masked_recordings_are_matched_by_place(rigwise: Run) -> None:
    for place in ("one/", "two/"):
        assert rigwise("record", place, machine="healthy_rtx4090").returncode == 0
    done = rigwise("diff", "one", "two", "--json")
    assert changes(done) == []
    assert done.returncode == 0


def test_a_pasted_log_and_a_machine_have_nothing_in_common(rigwise: Run, recording: Callable[[str], Path]) -> None:
    log = "[   12.000000] usb 1-1: new high-speed USB device\n[   13.000000] usb 1-1: Product: Mouse\n" * 3
    done = rigwise("diff", "-", recording("no_driver"), input=log)
    assert done.returncode in (1, 3)
    assert "Traceback" not in done.stderr


def test_contradictions(rigwise: Run, recording: Callable[[str], Path], tmp_path: Path) -> None:
    here = recording("healthy_rtx4090")
    assert_one_clear_error(rigwise("diff", "-", "-"), "standard input")
    assert_one_clear_error(rigwise("diff", here, here, "--python", "/usr/bin/python3"), "--python")
    assert_one_clear_error(rigwise("diff", here, tmp_path / "nothing"), "nothing")
