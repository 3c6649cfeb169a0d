"""What the live source does with commands and files that misbehave. None of this needs a GPU."""

import os
import socket
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

from rigwise.records.evidence import Status
from rigwise.sources.commands import LEFT_OUT, MAX_OUTPUT_BYTES
from rigwise.sources.files import MAX_FILE_BYTES
from rigwise.sources.live import LiveSource

NEVER_ENDING = "sleep 60 & echo $! > {pid_file}; wait"


def is_running(pid: int) -> bool:
    """Whether the process still does anything; a zombie no longer does."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for_end(pid: int) -> bool:
    """Whether the process ends within five seconds."""
    deadline = time.monotonic() + 5
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not is_running(pid)


def test_a_command_past_its_limit_is_killed_with_its_children(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    began = time.monotonic()
    answer = LiveSource().command(["sh", "-c", NEVER_ENDING.format(pid_file=pid_file)], timeout_seconds=0.5)
    assert answer.status is Status.TIMED_OUT
    assert time.monotonic() - began < 20
    assert wait_for_end(int(pid_file.read_text()))


def test_a_child_that_keeps_the_output_open_is_killed_too(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    command = ["sh", "-c", f"sleep 60 & echo $! > {pid_file}; exit 0"]
    assert LiveSource().command(command, timeout_seconds=0.5).status is Status.TIMED_OUT
    assert wait_for_end(int(pid_file.read_text()))


def test_a_failed_command_shows_both_outputs() -> None:
    answer = LiveSource().command(["sh", "-c", "echo said; echo complained >&2; exit 9"])
    assert (answer.status, answer.return_code, answer.text) == (Status.FAILED, 9, "said\ncomplained\n")


def test_a_command_that_ends_well_shows_its_output_alone() -> None:
    answer = LiveSource().command(["sh", "-c", "echo said; echo warned >&2"])
    assert (answer.status, answer.return_code, answer.text) == (Status.OK, 0, "said\n")


def test_a_command_killed_by_a_signal_has_failed() -> None:
    answer = LiveSource().command(["sh", "-c", "kill -SEGV $$"])
    assert (answer.status, answer.return_code) == (Status.FAILED, -11)


def test_a_command_cannot_wait_for_the_keyboard_and_speaks_english() -> None:
    assert LiveSource().command(["cat"]).text == ""
    assert LiveSource().command(["sh", "-c", "echo $LC_ALL"]).text == "C\n"


def test_output_is_bounded_and_never_undecodable() -> None:
    flood = f"import sys; sys.stdout.buffer.write(b'\\xff' * {MAX_OUTPUT_BYTES + 10})"
    answer = LiveSource().command([sys.executable, "-c", flood])
    assert answer.status is Status.OK
    assert answer.text.replace(LEFT_OUT.decode(), "") == "\ufffd" * MAX_OUTPUT_BYTES


def test_of_a_long_output_the_beginning_and_the_end_are_kept() -> None:
    numbers = f"for number in range({MAX_OUTPUT_BYTES // 4}): print(number)"
    lines = LiveSource().command([sys.executable, "-c", numbers]).text.splitlines()
    cut = lines.index(LEFT_OUT.decode().strip())
    assert (lines[0], lines[-1]) == ("0", str(MAX_OUTPUT_BYTES // 4 - 1))
    assert all(int(later) == int(earlier) + 1 for earlier, later in pairwise(line for line in lines[cut + 1 :] if line))
    assert sum(map(len, lines)) <= MAX_OUTPUT_BYTES + len(LEFT_OUT)


def test_programs_that_cannot_be_started(tmp_path: Path) -> None:
    plain, garbage = tmp_path / "plain", tmp_path / "garbage"
    plain.write_text("not a program")
    garbage.write_bytes(b"\x7fELF nothing")
    garbage.chmod(0o755)
    source = LiveSource()
    assert source.command(["rigwise-no-such-program"]).status is Status.NOT_FOUND
    assert source.command([str(plain)]).status is Status.NOT_PERMITTED
    assert source.command([str(garbage)]).status is Status.FAILED


def test_a_command_is_named_as_a_shell_takes_it_or_by_its_key() -> None:
    source = LiveSource()
    assert source.command(["echo", "two words"]).origin == "$ echo 'two words'"
    assert source.command(["echo"], key="greeting").origin == "$ greeting"


def test_files_folders_and_what_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/b").write_text("text\n")
    (tmp_path / "proc/a").write_bytes(b"\xff")
    source = LiveSource(tmp_path)
    assert (source.file("/proc/b").status, source.file("/proc/b").text) == (Status.OK, "text\n")
    assert source.file("/proc/a").text == "\ufffd"
    assert source.file("/proc").text == "a\nb"
    assert source.file("/proc/c").status is Status.NOT_FOUND
    assert source.file("/proc/b/c").status is Status.NOT_FOUND
    assert source.file("/proc/b").origin == "/proc/b"


def test_a_large_file_is_cut(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"x" * (MAX_FILE_BYTES + 10))
    assert len(LiveSource(tmp_path).file("/log").text) == MAX_FILE_BYTES


def test_devices_pipes_and_sockets_are_described_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
    assert LiveSource().file("/dev/null").text == "character device, readable and writable"
    assert LiveSource(tmp_path).file("/pipe").text.startswith("pipe, ")
    assert LiveSource(tmp_path).file("/socket").text.startswith("socket, ")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_this_user_may_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").touch(0o000)
    assert LiveSource(tmp_path).file("/secret").status is Status.NOT_PERMITTED


def test_symbolic_links_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    assert LiveSource(tmp_path).file("/loop").status is Status.FAILED


def test_a_simulated_machine_runs_keyed_commands_by_their_key(tmp_path: Path) -> None:
    assert LiveSource(tmp_path).command(["false"], key="echo simulated").text == "simulated\n"
    assert LiveSource().command(["echo", "real"], key="false").text == "real\n"
