"""The right decision for each simulated machine, live on the fake and from its recording, with equal findings."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

DECISIONS = {
    "healthy_rtx4090": ("go", 0, None),
    "healthy_h100_loaded": ("go", 0, None),
    "no_driver": ("stop", 1, "driver_missing"),
    "driver_library_mismatch": ("stop", 1, "driver_library_mismatch"),
    "hot_throttling": ("stop", 1, "hot_gpu"),
    "one_of_two_lost": ("stop", 1, "gpu_lost"),
    "no_gpu": ("stop", 1, "gpu_absent"),
    "nouveau": ("stop", 1, "nouveau_bound"),
    "container_without_gpu": ("stop", 1, "container_without_gpu"),
    "hung_driver": ("stop", 1, "xid_driver"),
    "wsl2_healthy": ("go", 0, None),
}


def findings_of(report: dict[str, Any]) -> list[dict[str, Any]]:
    return report["findings"]


@pytest.mark.parametrize("scenario", DECISIONS)
def test_live_and_recorded_agree_on_the_right_decision(
    scenario: str, rigwise: Callable[..., Any], recording: Callable[[str], Path]
) -> None:
    action, exit_code, first_cause = DECISIONS[scenario]
    live = rigwise("check", "--json", machine=scenario)
    recorded = rigwise("check", "--json", "--from", recording(scenario), machine="no_gpu")
    assert live.stderr == recorded.stderr == ""
    assert (live.returncode, recorded.returncode) == (exit_code, exit_code)
    report, replayed = json.loads(live.stdout), json.loads(recorded.stdout)
    problems = [finding for finding in findings_of(report) if finding["verdict"] == "problem"]
    assert problems == [finding for finding in findings_of(replayed) if finding["verdict"] == "problem"]
    assert [report["decision"][part] for part in ("action", "next_steps")] == [
        replayed["decision"][part] for part in ("action", "next_steps")
    ]
    assert report["identity"] == replayed["identity"]
    assert report["decision"]["action"] == action
    serious = [finding for finding in problems if finding["severity"] != "note"]
    assert (serious[0]["check"] if serious else None) == first_cause


def test_the_contract_of_check_json(rigwise: Callable[..., Any]) -> None:
    report = json.loads(rigwise("check", "--json", machine="one_of_two_lost").stdout)
    assert set(report) == {"schema", "decision", "findings", "identity"}
    assert set(report["decision"]) == {"action", "because", "next_steps"}
    assert report["decision"]["next_steps"]
    required = {"check", "target", "title", "verdict", "severity", "because", "evidence", "next_steps"}
    for finding in findings_of(report):
        assert required <= set(finding)
        assert finding["verdict"] in {"ok", "problem", "unknown"}
        assert finding["severity"] in {"note", "warning", "serious"}
        assert finding["because"]
        for quote in finding["evidence"]:
            assert set(quote) == {"source", "text"}
    first = findings_of(report)[0]
    assert first["evidence"], "the first cause quotes what was read"
    assert "GPU 1" in first["target"]


def test_text_answers_first(rigwise: Callable[..., Any]) -> None:
    shown = rigwise("check", machine="one_of_two_lost")
    assert shown.stdout.startswith("STOP")
    assert "gpu_lost" in shown.stdout
    assert "next" in shown.stdout


def test_alone_it_is_one_screen(rigwise: Callable[..., Any]) -> None:
    shown = rigwise(machine="healthy_rtx4090")
    assert shown.returncode == 0
    assert "RTX 4090" in shown.stdout
    assert "GO" in shown.stdout
    assert len(shown.stdout.splitlines()) <= 24


@pytest.mark.parametrize("arguments", [(), ("check",), ("check", "--all")])
def test_the_last_line_is_one_command_to_copy(arguments: tuple[str, ...], rigwise: Callable[..., Any]) -> None:
    *before, last = rigwise(*arguments, machine="no_gpu").stdout.splitlines()
    assert last == "  next  lspci -nn | grep -i nvidia"
    assert before[-1] == ""


def test_no_headline_holds_the_name_of_a_constant(rigwise: Callable[..., Any]) -> None:
    for machine in DECISIONS:
        shown = rigwise(machine=machine).stdout
        assert "NVML" not in shown, machine
