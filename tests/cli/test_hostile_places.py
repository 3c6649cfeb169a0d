"""The real command where it is not welcome: full disks, closed pipes, bare environments, signals at any moment."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from cli.one_clear_error import assert_one_clear_error
from cli.started import Started
from train.bad_pictures import write

from rigwise.telemetry.reading import load_run
from rigwise.telemetry.run_folder import create_next_run_folder
from rigwise.units import MIB

Run = Callable[..., Any]
Begin = Callable[[Path, Path], Started]

XML = (
    "<?xml version='1.0'?>\n<nvidia_smi_log>\n<driver_version>570.124.06</driver_version>\n"
    "<attached_gpus>1</attached_gpus>\n<gpu id='00000000:41:00.0'><product_name>NVIDIA RTX A6000</product_name></gpu>\n"
    "</nvidia_smi_log>\n"
)


def test_a_disk_that_fills_up_costs_nothing_that_was_recorded(
    begin: Begin, rigwise: Run, endless: Path, small_disk: Callable[[int], Path], tmp_path: Path
) -> None:
    disk = small_disk(80 * MIB)
    run = begin(endless, disk / "run").until(lambda each: each.num_steps() > 3)
    with suppress(OSError), (disk / "filler").open("wb", buffering=0) as filler:
        while filler.write(bytes(4096)):
            pass
    assert_one_clear_error(run.ended(), "cannot write", "disk is full", "df -h", exit_code=1)
    assert len(load_run(disk / "run").steps) > 3
    assert_one_clear_error(rigwise("report", disk / "run"), "No space left", "rigwise report", exit_code=1)
    copy = shutil.copytree(disk / "run", tmp_path / "copy")
    assert rigwise("report", copy).returncode == 0
    assert "cpu fp32" in (tmp_path / "copy" / "report.html").read_text()


def test_a_small_or_read_only_disk_is_refused_before_pictures_are_read(
    rigwise: Run, pictures: Path, small_disk: Callable[[int], Path]
) -> None:
    disk = small_disk(10 * MIB)
    small = rigwise("train", pictures, "--out", disk / "run")
    assert_one_clear_error(small, "too little space", "10.0 MiB", exit_code=1)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    for given in (("--out", disk / "run"), ()):
        run = rigwise("train", pictures, *given, cwd=disk)
        assert_one_clear_error(run, "Read-only file system", exit_code=1)
        assert "reading pictures" not in run.stderr


def test_pictures_removed_while_a_run_reads_them(begin: Begin, endless: Path, pictures: Path, tmp_path: Path) -> None:
    run = begin(endless, tmp_path / "run").until(lambda each: each.num_steps() > 3)
    shutil.rmtree(pictures / "bags")
    assert_one_clear_error(run.ended(), "cannot use the picture bags/", "No such file", "leave the pictures alone")


def test_runs_that_start_at_once_get_a_folder_each(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as at_once:
        made = list(at_once.map(lambda _: create_next_run_folder(date(2026, 11, 30), tmp_path / "runs"), range(48)))
    assert {folder.name for folder in made} == {f"2026-11-30-{number}" for number in range(1, 49)}


@pytest.mark.parametrize("command", [("report",), ("report", "--json")])
def test_a_reader_that_has_seen_enough_is_no_error(
    command: tuple[str, ...], rigwise: Run, finished_run: tuple[Path, Path]
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    run = rigwise(*command, finished_run[0], stdout=writing)
    os.close(writing)
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.parametrize(("machine", "exit_code"), [("healthy_rtx4090", 0), ("no_gpu", 1)])
def test_the_exit_code_outlives_the_reader(machine: str, exit_code: int, rigwise: Run) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    run = rigwise("check", machine=machine, stdout=writing)
    os.close(writing)
    assert (run.returncode, run.stderr) == (exit_code, "")


@pytest.mark.parametrize("command", [("check",), ("check", "--json")])
def test_standard_output_on_a_full_disk(command: tuple[str, ...], rigwise: Run) -> None:
    with Path("/dev/full").open("w") as full:
        run = rigwise(*command, machine="healthy_rtx4090", stdout=full)
    run.stdout = ""
    assert_one_clear_error(run, "standard output", "No space left on device", exit_code=1)


@pytest.mark.parametrize(
    "inside",
    [
        {"COLUMNS": "0"},
        {"COLUMNS": "40", "TERM": "dumb", "NO_COLOR": "1"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"HOME": "/proc/nowhere", "TMPDIR": "/nonexistent"},
        {"PYTHONOPTIMIZE": "2"},
    ],
    ids=lambda inside: "-".join(inside),
)
def test_bare_surroundings(inside: dict[str, str], rigwise: Run, finished_run: tuple[Path, Path]) -> None:
    for command in (["report", finished_run[0]], ["check", "--from", finished_run[0]]):
        run = rigwise(*command, inside=inside)
        assert (run.returncode, run.stderr) == (command[0] == "check", "")
        assert len(run.stdout.split()) > 20
        assert "\x1b" not in run.stdout
        assert inside.get("COLUMNS") != "40" or max(map(len, run.stdout.splitlines())) <= 40


def test_a_current_folder_that_is_gone(rigwise: Run, pictures: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    command = [sys.executable, "-m", "rigwise", "train", str(pictures)]
    leave = "import os, sys; os.rmdir(os.getcwd()); os.execv(sys.argv[1], sys.argv[1:])"
    run = subprocess.run([sys.executable, "-c", leave, *command], cwd=gone, capture_output=True, text=True, check=False)
    assert_one_clear_error(run, "the current folder", "cd to")


def test_a_user_without_a_home_can_still_be_told_where_the_pictures_are() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become a user whom nobody knows")
    script = (
        "import os; from pathlib import Path; from rigwise.train import sample_ledger; os.setuid(54321); "
        "print(sample_ledger.home_relative(Path('/data')))"
    )
    bare = {name: value for name, value in os.environ.items() if name != "HOME"}
    shown = subprocess.run([sys.executable, "-c", script], env=bare, capture_output=True, text=True, check=False)
    assert (shown.stdout, shown.stderr) == ("/data\n", "")


def test_a_torch_that_cannot_be_loaded(rigwise: Run, pictures: Path, tmp_path: Path) -> None:
    write(
        tmp_path / "broken" / "torch" / "__init__.py", b"raise ImportError('libtorch_cpu.so: failed to map segment')\n"
    )
    run = rigwise("train", pictures, inside={"PYTHONPATH": str(tmp_path / "broken")})
    assert_one_clear_error(run, "cannot be imported", "libtorch_cpu.so", "rigwise check")


@pytest.mark.parametrize(
    "sent",
    [
        XML.encode("utf-8-sig"),
        XML.encode("utf-16"),
        XML.replace("\n", "\r\n").encode(),
        f"me@rig:~$ nvidia-smi -q -x\n{XML}me@rig:~$ ".encode(),
    ],
    ids=["bom", "utf-16", "crlf", "prompt"],
)
def test_a_sent_xml_is_read_however_it_was_sent(sent: bytes, rigwise: Run, tmp_path: Path) -> None:
    write(tmp_path / "plain.xml", XML.encode())
    write(tmp_path / "sent.xml", sent)
    plain, read = (rigwise("check", "--json", "--from", tmp_path / name) for name in ("plain.xml", "sent.xml"))
    assert read.stdout == plain.stdout
    assert "RTX A6000" in rigwise("check", "--from", tmp_path / "sent.xml").stdout


def test_a_cut_off_xml_cannot_tell(rigwise: Run, tmp_path: Path) -> None:
    run = rigwise("check", "--json", "--from", write(tmp_path / "cut.xml", XML[: len(XML) // 2].encode()))
    assert run.returncode == 3
    assert json.loads(run.stdout)["decision"]["action"] == "cannot_tell"


def test_a_folder_of_unrelated_things_is_searched_without_harm(rigwise: Run, tmp_path: Path) -> None:
    place = tmp_path / "things"
    write(place / "binary", os.urandom(5000))
    write(place / "notes.txt", b"nothing of interest\n")
    (place / "round").symlink_to(place)
    (place / "itself").symlink_to("itself")
    os.mkfifo(place / "pipe")
    with (place / "huge").open("wb") as huge:
        huge.truncate(2**33)
    assert rigwise("check", "--json", "--from", place).returncode == 3
    assert_one_clear_error(rigwise("check", "--from", place / "huge"), "binary file")
    assert_one_clear_error(rigwise("check", "--from", place / "pipe"), "neither a file nor a folder")
    write(place / "smi.xml", XML.encode())
    assert "RTX A6000" in rigwise("check", "--from", place).stdout


def test_files_that_block_their_reader_are_left_alone(rigwise: Run) -> None:
    """Reading /proc/kmsg waits for the next kernel message, and takes it from whoever else waits."""
    run = rigwise("check", "--from", "/proc")
    assert run.returncode in (0, 3)  # what else is there to read differs from machine to machine
    assert run.stderr == ""


def test_standard_input_that_is_closed(rigwise: Run) -> None:
    run = rigwise("check", "--from", "-", input=None, preexec_fn=lambda: os.close(0))
    assert_one_clear_error(run, "standard input", "it is empty")
