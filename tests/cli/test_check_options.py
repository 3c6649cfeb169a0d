"""The options of `rigwise check`: each does what it says, and is refused where it cannot."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli.one_clear_error import assert_one_clear_error

from rigwise.engine import chosen_checks
from rigwise.knowledge.check_catalogue import check_catalogue

Run = Callable[..., Any]


def test_the_list_of_checks(rigwise: Run) -> None:
    listed = json.loads(rigwise("check", "--list", "--json").stdout)
    assert listed["schema"] == "rigwise.checks/1"
    assert [one["id"] for one in listed["checks"]] == list(check_catalogue())
    lost = next(one for one in listed["checks"] if one["id"] == "gpu_lost")
    assert (lost["severity"], lost["title"]) == ("serious", "The GPU fell off the bus")
    shown = rigwise("check", "--list", inside={"COLUMNS": "200"}).stdout
    assert all(check in shown for check in check_catalogue())


def test_a_row_names_its_checks(rigwise: Run) -> None:
    rows = sorted({row for check in check_catalogue().values() for row in check.rows})
    assert len(rows) > 20
    for row in rows:
        assert chosen_checks([row.lower()]) == tuple(id_ for id_, one in check_catalogue().items() if row in one.rows)
    listed = json.loads(rigwise("check", "--list", "--json", "--only", "t1").stdout)["checks"]
    assert tuple(one["id"] for one in listed) == chosen_checks(["T1"])


def test_only_some_checks_run(rigwise: Run) -> None:
    report = json.loads(rigwise("check", "--json", "--only", "gpu_lost", "--only", "ram_low").stdout)
    assert {finding["check"] for finding in report["findings"]} == {"gpu_lost", "ram_low"}


def test_a_path_without_from(rigwise: Run) -> None:
    assert_one_clear_error(rigwise("check", "dmesg.txt"), "rigwise check --from dmesg.txt")
    assert_one_clear_error(rigwise("check", "my log.txt"), "rigwise check --from 'my log.txt'")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--from", "x", "--deep"), "--deep"),
        (("--from", "x", "--python", "python3"), "--python"),
        (("--list", "--deep"), "--deep"),
        (("--data", "."), "--deep --data ."),
        (("--deep", "--data", "no-such-folder"), "no-such-folder"),
        (("--list", "--html", "x.html"), "--html"),
        (("--list", "--from", "x"), "--from"),
    ],
)
def test_contradictions_are_named(arguments: tuple[str, ...], named: str, rigwise: Run) -> None:
    assert_one_clear_error(rigwise("check", *arguments), named)


def test_several_pieces_of_evidence_join(rigwise: Run, recording: Callable[[str], Path], tmp_path: Path) -> None:
    log = tmp_path / "dmesg.txt"
    log.write_text("[  12.000001] NVRM: Xid (PCI:0000:41:00): 79, pid=1, GPU has fallen off the bus.\n")
    memory = recording("healthy_rtx4090") / "files/proc/meminfo"
    for arguments in (("--from", log, "--from", memory), ("--from", log, memory)):
        report = json.loads(rigwise("check", "--json", *arguments).stdout)
        assert report["findings"][0]["check"] == "gpu_lost"
        assert report["identity"]["facts"]["ram_total_bytes"] is not None


def test_the_identity_is_in_the_json(rigwise: Run) -> None:
    identity = json.loads(rigwise("check", "--json", machine="healthy_rtx4090").stdout)["identity"]
    assert identity["facts"]["driver"] == "570.124.06"
    assert identity["facts"]["cuda"] == "12.8"
    assert identity["gpus"][0]["uuid"] == "GPU-4f1c2a90-7d53-4be8-9a16-0c8e5b7d3f21"
    assert identity["packages"]["torch"] == "2.11.0+cu128"


def test_a_page_of_the_report(rigwise: Run, tmp_path: Path) -> None:
    done = rigwise("check", "--html", "page.html", machine="one_of_two_lost")
    assert done.returncode == 1
    assert done.stdout.startswith("STOP"), "the text is printed too"
    page = (tmp_path / "page.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "The GPU fell off the bus" in page
    assert not re.search(r"""(?:src|href)\s*=\s*["'](?!#)|<script""", page), "it is self-contained"


def test_a_page_that_cannot_be_written(rigwise: Run) -> None:
    assert_one_clear_error(rigwise("check", "--html", "none/page.html"), "none/page.html", exit_code=1)


HOSTILE = (
    "[  12.000001] NVRM: Xid (PCI:0000:41:00): 79, pid=1, name=\x1b]0;owned\x07\x1b[2J\x9b31m"
    "<script>alert(1)</script>\u202egpj.exe, GPU has fallen off the bus.\n"
)
ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.mark.parametrize("options", [(), ("--all",), ("--json",)])
def test_escapes_in_evidence_act_on_nothing(options: tuple[str, ...], rigwise: Run, tmp_path: Path) -> None:
    done = rigwise("check", "--from", "-", "--html", "page.html", *options, input=HOSTILE)
    assert "gpu_lost" in done.stdout
    page = (tmp_path / "page.html").read_text()
    assert "alert(1)" in page
    assert "<script>alert" not in page
    for text in (done.stdout, done.stderr, page):
        assert ACTING.findall(text) == []
