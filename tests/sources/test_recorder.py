"""The recorder passes answers through, and what it writes answers the same."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_gpu.asking import ask_everything

from rigwise.errors import CannotWrite
from rigwise.records.evidence import Status
from rigwise.sources.live import LiveSource
from rigwise.sources.masking import Identity
from rigwise.sources.opening import open_source
from rigwise.sources.recorded import RecordedSource
from rigwise.sources.recorder import Recorder


def test_answers_pass_through_unchanged(recording: Callable[[str], Path]) -> None:
    folder = recording("hot_throttling")
    recorder = Recorder(RecordedSource(folder))
    assert recorder.name == str(folder)
    assert ask_everything(recorder, folder) == ask_everything(RecordedSource(folder), folder)


def test_a_masked_recording_gives_no_uuid_away(recording: Callable[[str], Path], tmp_path: Path) -> None:
    folder = recording("one_of_two_lost")
    recorder = Recorder(RecordedSource(folder))
    ask_everything(recorder, folder)
    recorder.command(["/home/grace/bin/tool", "--password=hunter2"])
    written = recorder.write(tmp_path / "evidence", identity=Identity((), "salt"))
    lying = [path for path in (tmp_path / "evidence").rglob("*") if path.is_file()]
    assert written == sorted(path.relative_to(tmp_path / "evidence") for path in lying)
    assert not any(secret in path.read_text() for path in lying for secret in ("4f1c2a90", "b83e6d05", "user-1"))
    masked = RecordedSource(tmp_path)
    assert masked.nvml("DeviceGetMemoryInfo", 0) == RecordedSource(folder).nvml("DeviceGetMemoryInfo", 0)
    assert masked.nvml("DeviceGetName", 1).return_code == 15


def test_odd_answers_read_back_equal(tmp_path: Path) -> None:
    """A folder asked for together with a file in it, tabs and backslashes, and a path outside the root."""
    root = tmp_path / "root"
    (root / "sys/class").mkdir(parents=True)
    (root / "sys/class/name").write_bytes(b"a\tb\\n\r\nc\xff\n")
    recorder = Recorder(LiveSource(root))
    files = ["/sys", "/sys/class", "/sys/class/name", "/sys/none", "/sys/class/../class/name"]
    commands = [["printf", r"a\tb\r\n\\n"], ["no-such-program"], ["sh", "-c", "exit 3"], ["printf", ""]]
    asked = [recorder.file(path) for path in files] + [recorder.command(argv) for argv in commands]
    recorder.write(tmp_path / "evidence", masked=False)
    recorded = RecordedSource(tmp_path)
    read = [recorded.file(path) for path in files] + [recorded.command(argv) for argv in commands]
    assert [(a.origin, a.status, a.text, a.return_code) for a in asked] == [
        (a.origin, a.status, a.text, a.return_code) for a in read
    ]
    assert all(path.is_relative_to(tmp_path / "evidence") for path in (tmp_path / "evidence").rglob("*"))


def test_what_a_recording_did_not_hold_is_not_written_as_absent(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old/kernel.log").write_text("[    0.000000] Linux\n")
    recorder = Recorder(open_source(str(tmp_path / "old")))
    recorder.file("/proc/meminfo"), recorder.command(["nvidia-smi"]), recorder.nvml("Init"), recorder.kernel_log()
    recorder.write(tmp_path / "new", masked=False)
    again = open_source(str(tmp_path / "new"))
    answers = [again.file("/proc/meminfo"), again.command(["nvidia-smi"]), again.nvml("Init")]
    assert {answer.status for answer in answers} == {Status.NOT_RECORDED}
    assert again.kernel_log().text == "[    0.000000] Linux\n"


def test_the_first_answer_stands(tmp_path: Path) -> None:
    (tmp_path / "value").write_text("1")
    recorder = Recorder(LiveSource(tmp_path))
    recorder.file("/value")
    (tmp_path / "value").write_text("2")
    assert recorder.file("/value").text == "2"
    recorder.write(tmp_path / "evidence", masked=False)
    assert RecordedSource(tmp_path).file("/value").text == "1"


def test_a_name_in_the_path_of_a_control_group_is_still_hidden(tmp_path: Path) -> None:
    """A service named after a person is no word by which evidence is asked for."""
    group = "/sys/fs/cgroup/system.slice/ada.service/memory.max"
    (tmp_path / "root" / group.lstrip("/")).parent.mkdir(parents=True)
    (tmp_path / "root" / group.lstrip("/")).write_text("max\n")
    (tmp_path / "root/note").write_text("ada uses memory\n")
    recorder = Recorder(LiveSource(tmp_path / "root"))
    recorder.file(group), recorder.file("/note")
    written = recorder.write(tmp_path / "evidence", identity=Identity(("ada", "memory"), "salt"))
    assert not any("ada" in str(path) for path in written)
    assert RecordedSource(tmp_path).file("/note").text.startswith("name-")
    assert RecordedSource(tmp_path).file("/note").text.endswith(" uses memory\n")


def test_many_files_are_written_in_time_that_grows_with_their_number(tmp_path: Path) -> None:
    """A server with eight GPUs is asked for several hundred."""
    recorder = Recorder(LiveSource(tmp_path))
    for number in range(1000):
        recorder.file(f"/sys/bus/pci/devices/0000:{number:04x}:00.0/class")
    began = time.process_time()
    recorder.recording(masked=False)
    assert time.process_time() - began < 2


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CannotWrite) as refused:
        Recorder(LiveSource()).write(tmp_path / "file" / "evidence")
    assert os.strerror(20) in refused.value.why
