"""The disk probe really reads a disk, and leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rigwise.probes.host import disk_speed
from rigwise.records.evidence import Status
from rigwise.sources.live import LiveSource

COMMAND = [sys.executable, str(disk_speed.PROBE)]


def probed(folder: Path) -> dict[str, object]:
    run = subprocess.run([*COMMAND, str(folder)], capture_output=True, text=True, timeout=60, check=True)
    found: dict[str, object] = json.loads(run.stdout)
    return found


def test_it_measures_and_removes_its_files(tmp_path: Path) -> None:
    reading = disk_speed.read_disk_speed(LiveSource(), str(tmp_path))
    if reading.status is Status.NOT_SUPPORTED:
        pytest.skip(f"this disk must not be measured: {reading.quote.text}")
    speed = reading.need()
    assert speed.error == ""
    assert (speed.sequential_read_bytes_per_second or 0) > 1e6
    assert (speed.random_reads_per_second or 0) > 10
    assert (speed.opens_per_second or 0) > 10
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_its_files_are_removed_when_its_process_group_is_stopped(tmp_path: Path, number: signal.Signals) -> None:
    quiet = subprocess.DEVNULL
    with subprocess.Popen([*COMMAND, str(tmp_path)], stdout=quiet, stderr=quiet, start_new_session=True) as child:
        while child.poll() is None and not list(tmp_path.rglob("large")):
            time.sleep(0.01)
        if child.poll() is not None:
            pytest.skip("this disk must not be measured")
        os.killpg(child.pid, number)
        assert child.wait(timeout=20) != 0
    assert is_empty_soon(tmp_path)


def is_empty_soon(folder: Path) -> bool:
    """Whether the folder is empty within five seconds."""
    end = time.monotonic() + 5
    while list(folder.iterdir()) and time.monotonic() < end:
        time.sleep(0.02)
    return not list(folder.iterdir())


def test_what_is_in_memory_is_no_disk(small_disk: Callable[[int], Path]) -> None:
    place = small_disk(64 * 2**20)
    assert probed(place)["refused"] == "in memory"
    assert os.listdir(place) == []


def test_a_refusal_is_no_measurement(small_disk: Callable[[int], Path]) -> None:
    reading = disk_speed.read_disk_speed(LiveSource(), str(small_disk(2**20)))
    assert reading.status is Status.NOT_SUPPORTED
    assert "in memory" in reading.quote.text
