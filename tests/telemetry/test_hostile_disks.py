"""Full and read-only disks: one clear error, and everything written before stays readable."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from rigwise.errors import CannotWrite
from rigwise.records.run import Step
from rigwise.telemetry.reading import load_run
from rigwise.telemetry.run_folder import MIN_FREE_BYTES, create_run_folder, default_run_folder, write_text
from rigwise.telemetry.writer import RunWriter
from rigwise.units import MIB

SmallDisk = Callable[[int], Path]


def step(number: int) -> Step:
    return Step(trial="fp32", step=number, at=float(number), step_seconds=0.1, data_seconds=0.0, loss=1.0)


def fill_up(writer: RunWriter) -> None:
    for number in range(2_000_000):
        writer.record(step(number))
        if number % 1000 == 0:
            writer.flush()


def make_read_only(disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)


def test_a_disk_that_fills_up_is_said_and_costs_nothing_written_before(small_disk: SmallDisk) -> None:
    disk = small_disk(MIB)
    writer = RunWriter(disk / "run.sqlite")
    writer.record(step(-1))
    writer.flush()
    with pytest.raises(CannotWrite) as caught:
        fill_up(writer)
    assert "disk" in caught.value.why
    assert str(disk) in caught.value.next_step
    with pytest.raises(CannotWrite):
        writer.record(step(0))
    with pytest.raises(CannotWrite):
        writer.close()
    kept = [one.step for one in load_run(disk).steps]
    assert kept == list(range(-1, len(kept) - 1))
    assert len(kept) > 1000


def test_the_writing_thread_reports_a_full_disk_at_the_next_call(small_disk: SmallDisk) -> None:
    disk = small_disk(MIB)
    writer = RunWriter(disk / "run.sqlite")
    (disk / "ballast").write_bytes(bytes(shutil.disk_usage(disk).free))
    for number in range(2000):
        writer.record(step(number))
    with pytest.raises(CannotWrite):
        writer.close()


def test_no_run_starts_on_a_disk_with_too_little_space(small_disk: SmallDisk) -> None:
    disk = small_disk(MIN_FREE_BYTES // 2)
    with pytest.raises(CannotWrite) as caught:
        create_run_folder(disk / "runs" / "a")
    assert caught.value.why == "32.0 MiB are free; a run needs 64.0 MiB"
    assert list(disk.iterdir()) == []


def test_no_database_on_a_full_disk(small_disk: SmallDisk) -> None:
    disk = small_disk(MIB)
    (disk / "ballast").write_bytes(bytes(shutil.disk_usage(disk).free))
    with pytest.raises(CannotWrite):
        RunWriter(disk / "run.sqlite")


def test_a_text_that_does_not_fit_leaves_the_old_one(small_disk: SmallDisk) -> None:
    report = small_disk(MIB) / "report.html"
    write_text(report, "old")
    with pytest.raises(CannotWrite):
        write_text(report, "new" * MIB)
    assert report.read_text() == "old"
    assert [path.name for path in report.parent.iterdir()] == ["report.html"]


def test_a_read_only_disk_refuses_a_run(small_disk: SmallDisk) -> None:
    disk = small_disk(2 * MIN_FREE_BYTES)
    (disk / "empty").mkdir()
    make_read_only(disk)
    for path in (disk / "new", disk / "empty"):
        with pytest.raises(CannotWrite) as caught:
            create_run_folder(path)
        assert "Read-only" in caught.value.why
    with pytest.raises(CannotWrite):
        RunWriter(disk / "run.sqlite")


@pytest.mark.parametrize("ended", ["finished", "killed", "copied without its shared memory file"])
def test_a_run_on_a_read_only_disk_can_be_read(small_disk: SmallDisk, tmp_path: Path, ended: str) -> None:
    disk = small_disk(2 * MIB)
    writer = RunWriter(tmp_path / "run.sqlite")
    writer.record(step(1))
    writer.flush()
    if ended == "finished":
        writer.close()
    for name in ("run.sqlite", "run.sqlite-wal", "run.sqlite-shm"):
        if (tmp_path / name).exists() and not (name.endswith("shm") and ended.startswith("copied")):
            shutil.copy(tmp_path / name, disk)
    writer.close()
    make_read_only(disk)
    assert load_run(disk).steps == (step(1),)


def test_a_folder_of_the_kernel_refuses_a_run() -> None:
    with pytest.raises(CannotWrite, match="cannot write /proc"):
        create_run_folder(default_run_folder(date(2026, 11, 30), Path("/proc/rigwise")))


WRITES_UP_TO_A_LIMIT = """
import resource, sys
from pathlib import Path
from rigwise.errors import CannotWrite
from rigwise.records.run import Step
from rigwise.telemetry.writer import RunWriter

writer = RunWriter(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
try:
    for number in range(2_000_000):
        writer.record(Step(trial="fp32", step=number, at=0.0, step_seconds=0.1, data_seconds=0.0, loss=1.0))
        if number % 1000 == 0:
            writer.flush()
except CannotWrite:
    sys.exit(7)
"""


def test_a_file_that_may_not_grow_is_said_the_same_way(tmp_path: Path) -> None:
    """The same without root: the kernel refuses the write (EFBIG) as it would on a full disk."""
    child = [sys.executable, "-c", WRITES_UP_TO_A_LIMIT, str(tmp_path / "run.sqlite")]
    assert subprocess.run(child, check=False, timeout=60).returncode == 7
    kept = [one.step for one in load_run(tmp_path).steps]
    assert kept == list(range(len(kept)))
    assert len(kept) > 1000
