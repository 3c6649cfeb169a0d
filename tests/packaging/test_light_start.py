"""Looking at a machine or a run never waits for an import it does not need, also where torch is installed."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rigwise.telemetry.run_folder import create_run_folder
from rigwise.telemetry.writer import RunWriter

TRAINING = {"torch", "torchvision", "timm", "simplejpeg"}
HEAVY = TRAINING | {"numpy", "PIL", "plotly", "jinja2"}
IMPORTED = re.compile(r"^import time: .*\|\s+([\w.]+)$", re.MULTILINE)
Importing = Callable[..., set[str]]


@pytest.fixture
def imported_by(fake_machine: Callable[[str], dict[str, str]], tmp_path: Path) -> Importing:
    """The top-level modules that a command imports in its own process, by Python's own account."""
    machine = fake_machine("healthy_rtx4090")

    def run(*arguments: object, exit_code: int = 0) -> set[str]:
        command = [sys.executable, "-X", "importtime", "-m", "rigwise", *map(str, arguments)]
        done = subprocess.run(
            command, env=machine, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == exit_code, done.stderr[-2000:]
        return {name.split(".")[0] for name in IMPORTED.findall(done.stderr)}

    return run


@pytest.mark.parametrize("command", ["--help", "--version", "train --help", "check", "check --json", ""])
def test_a_look_at_the_machine_imports_nothing_heavy(imported_by: Importing, command: str) -> None:
    modules = imported_by(*command.split())
    assert {"rigwise", "typer"} <= modules
    assert not modules & HEAVY


def test_a_look_at_evidence_imports_nothing_heavy(imported_by: Importing, recording: Callable[[str], Path]) -> None:
    assert not imported_by("check", "--from", recording("hot_throttling"), exit_code=1) & HEAVY


def test_the_page_of_a_run_needs_no_torch(imported_by: Importing, tmp_path: Path) -> None:
    folder = create_run_folder(tmp_path / "run")
    RunWriter(folder.database).close()
    modules = imported_by("report", folder.path)
    assert {"plotly", "jinja2"} <= modules
    assert not modules & TRAINING
    assert folder.report.stat().st_size > 0
