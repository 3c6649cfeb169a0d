"""A run killed with SIGKILL at any moment keeps everything but its last second."""

import os
import signal
import sqlite3
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rigwise.telemetry.reading import load_run

LOST_AT_MOST_SECONDS = 1.0
ENTRY = struct.Struct("=qd")

RECORDS_AND_LOGS = """
import os, struct, sys, time
from pathlib import Path
from rigwise.records.run import Step
from rigwise.telemetry.writer import RunWriter

folder = Path(sys.argv[1])
log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT)
writer = RunWriter(folder / "run.sqlite")
for number in range(1_000_000):
    at = time.monotonic()
    writer.record(Step(trial="fp32", step=number, at=at, step_seconds=0.001, data_seconds=0.0, loss=1.0))
    os.write(log, struct.pack("=qd", number, at))
    time.sleep(0.0005)
"""


def start(folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", RECORDS_AND_LOGS, str(folder)])


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < deadline, f"{path.name} never came"
        time.sleep(0.001)


def kill(child: subprocess.Popen[bytes]) -> float:
    """When it was killed, on the clock all processes of this machine share."""
    at = time.monotonic()
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    return at


def logged(folder: Path, until: float) -> set[int]:
    """What the child says it had recorded by then, from a file the kernel keeps."""
    text = (folder / "log").read_bytes()
    whole = text[: len(text) // ENTRY.size * ENTRY.size]
    return {number for number, at in ENTRY.iter_unpack(whole) if at <= until}


def integrity(database: Path) -> str:
    connection = sqlite3.connect(database)
    [(answer,)] = connection.execute("PRAGMA integrity_check")
    connection.close()
    return str(answer)


@pytest.mark.parametrize("alive_seconds", [0.3, 1.15, 2.3])
def test_only_the_last_second_is_lost(tmp_path: Path, alive_seconds: float) -> None:
    child = start(tmp_path)
    wait_for(tmp_path / "log")
    time.sleep(alive_seconds)
    killed_at = kill(child)

    run = load_run(tmp_path)
    kept = {step.step for step in run.steps}
    assert logged(tmp_path, killed_at - LOST_AT_MOST_SECONDS) <= kept
    assert kept <= logged(tmp_path, killed_at) | {len(logged(tmp_path, killed_at))}
    assert not run.finished
    assert integrity(tmp_path / "run.sqlite") == "ok"
    assert load_run(tmp_path).steps == run.steps  # also after someone else opened and closed the database


def test_a_run_killed_while_its_database_is_made_reads_as_an_empty_run(tmp_path: Path) -> None:
    child = start(tmp_path)
    wait_for(tmp_path / "run.sqlite")
    kill(child)
    assert load_run(tmp_path).steps == ()
    assert integrity(tmp_path / "run.sqlite") == "ok"
