"""Work in child processes: whatever way it ends there, it is a result here, and nothing of it stays."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import batch_children as children
import pytest

from rigwise.errors import BadInput
from rigwise.sources.children import Ending, run_in_child


def ended(work: children.Named, silence_seconds: float = 20.0) -> tuple[Ending, list[object]]:
    told: list[object] = []
    ending = run_in_child(work, silence_seconds=silence_seconds, told=told.append)
    return ending, told


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def assert_gone(pid: int) -> None:
    deadline = time.monotonic() + 5
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not is_alive(pid)


def test_what_is_told_arrives_in_order() -> None:
    ending, told = ended(children.count)
    assert (ending.exit_code, ending.failure) == (0, "")
    assert told == [0, 1, 2]


def test_what_is_raised_arrives_as_a_traceback() -> None:
    ending, _ = ended(children.fail)
    assert ending.exit_code == 1
    assert ending.failure.endswith("ValueError: no such thing\n")


def test_a_crash_comes_with_its_signal_and_its_last_words() -> None:
    ending, told = ended(children.crash)
    assert ending.exit_code == -signal.SIGSEGV
    assert ending.printed == "last words\n"
    assert told == ["first"]


def test_a_hang_and_all_it_started_are_killed() -> None:
    ending, told = ended(children.hang, silence_seconds=1.0)
    assert ending.exit_code is None
    assert len(told) == 2
    for pid in told:
        assert isinstance(pid, int)
        assert_gone(pid)


def test_its_folder_is_removed() -> None:
    _, told = ended(children.write)
    assert not Path(str(told[0])).exists()


def test_what_cannot_be_sent_is_said_in_words() -> None:
    with pytest.raises(BadInput, match="cannot be sent to a child process"):
        ended(lambda tell, folder: None)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_the_child_ends_with_the_process_that_waits_for_it(tmp_path: Path, how: signal.Signals) -> None:
    """Ctrl-C, and a parent that is killed and can clean up nothing."""
    noted = tmp_path / "pids"
    waiting = subprocess.Popen(
        [sys.executable, children.__file__, str(noted)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path)},
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 20
    while not noted.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    waiting.send_signal(how)
    waiting.wait(20)
    assert_gone(int(noted.read_text()))
    if how is signal.SIGINT:
        assert not list(tmp_path.glob("rigwise-*"))


def test_partial_work_is_sent_too() -> None:
    assert ended(partial(children.say_twice, "x"))[1] == ["x", "x"]


def test_a_file_without_a_main_guard_is_told_so(tmp_path: Path) -> None:
    script = tmp_path / "unguarded.py"
    script.write_text(
        "import batch_children\n"
        "from rigwise.errors import BadInput\n"
        "from rigwise.sources.children import run_in_child\n"
        "try:\n"
        "    run_in_child(batch_children.count, silence_seconds=20.0, told=print)\n"
        "except BadInput as error:\n"
        "    print(error.next_step)\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == 'put what the file runs under: if __name__ == "__main__":\n'
