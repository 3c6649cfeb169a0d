"""What held the memory: read from snapshots of the form PyTorch writes, made here without a GPU."""

import os
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch

import rigwise
from rigwise.errors import BadInput
from rigwise.train.memory_snapshot import keep_snapshot, leave_snapshot, start_recording, stop_recording, summary_of
from rigwise.train.step.device import CpuDevice
from rigwise.units import MIB

TORCH = f"{Path(torch.__file__).parent}/nn/functional.py"
MODEL = "/home/ada/project/model.py"
IN_BLOCK = [
    {"filename": "??", "line": 0, "name": "at::native::linear"},
    {"filename": TORCH, "line": 2000, "name": "linear"},
    {"filename": MODEL, "line": 34, "name": "forward"},
    {"filename": "/home/ada/project/train.py", "line": 9, "name": "main"},
]


def block(size_mib: int, frames: list[dict[str, Any]], state: str = "active_allocated") -> dict[str, Any]:
    return {"address": 0, "size": size_mib * MIB, "requested_size": size_mib * MIB, "state": state, "frames": frames}


def snapshot(*blocks: dict[str, Any], events: int = 3) -> dict[str, Any]:
    """As `torch.cuda.memory._snapshot` gives it in 2.14, in a segment of 1 GiB."""
    event = {"action": "alloc", "addr": 0, "size": MIB, "stream": 0, "time_us": 1, "frames": IN_BLOCK}
    segment = {"device": 0, "address": 0, "total_size": 1024 * MIB, "stream": 0, "segment_type": "large"}
    return {"segments": [segment | {"blocks": list(blocks)}], "device_traces": [[event] * events]}


def test_b83_the_largest_live_blocks_are_told_by_the_line_that_took_them(tmp_path: Path) -> None:
    full = snapshot(block(100, IN_BLOCK), block(200, IN_BLOCK), block(50, []), block(400, IN_BLOCK, state="inactive"))
    text = keep_snapshot(full, tmp_path / "out_of_memory.pickle")
    assert text.splitlines() == [
        "350 MiB in use, 1.00 GiB reserved, 3 events recorded",
        "300 MiB (85.7 %): model.py, line 34, in forward",
        "50.0 MiB (14.3 %): no line recorded, as for gradients and what was there before",
        "the snapshot is out_of_memory.pickle, for https://pytorch.org/memory_viz",
    ]
    assert rigwise.read_memory_snapshot(tmp_path / "out_of_memory.pickle") == summary_of(full)


def test_b84_a_snapshot_in_which_nothing_was_recorded_is_not_claimed(tmp_path: Path) -> None:
    text = keep_snapshot(snapshot(block(100, []), events=0), tmp_path / "out_of_memory.pickle")
    assert text == (
        "100 MiB in use, 1.00 GiB reserved, 0 events recorded: recording was off, so that no line of code is known"
    )
    assert list(tmp_path.iterdir()) == []


def test_b84_an_empty_snapshot_is_read_as_one() -> None:
    summary = summary_of({"segments": [], "device_traces": []})
    assert not summary.is_recorded
    assert (summary.live_bytes, summary.reserved_bytes, summary.largest) == (0, 0, ())


def test_b83_only_the_five_largest_lines_are_shown() -> None:
    many = [block(10 + line, [{"filename": MODEL, "line": line, "name": "forward"}]) for line in range(20)]
    lines = summary_of(snapshot(*many)).text.splitlines()
    assert len(lines) == 6
    assert "line 19" in lines[1]


def test_b83_stacks_of_older_versions_and_of_libraries_alone_are_read() -> None:
    old = {"address": 0, "size": MIB, "state": "active_allocated", "history": [{"real_size": MIB, "frames": IN_BLOCK}]}
    library = block(1, IN_BLOCK[:2])
    places = {blocks.place for blocks in summary_of(snapshot(old, library)).largest}
    assert places == {"model.py, line 34, in forward", "functional.py, line 2000, in linear"}


def test_b83_a_full_disk_costs_the_file_and_not_the_summary(tmp_path: Path) -> None:
    text = keep_snapshot(snapshot(block(1, IN_BLOCK)), tmp_path / "absent" / "out_of_memory.pickle")
    assert "model.py, line 34" in text
    assert "the snapshot could not be kept: No such file or directory" in text


class RunsSomething:
    def __reduce__(self) -> Any:
        return os.system, ("true",)


@pytest.mark.parametrize(
    "content",
    [b"", b"no pickle", pickle.dumps([1, 2]), pickle.dumps({"segments": [{}]}), pickle.dumps(RunsSomething())],
)
def test_b83_what_is_no_snapshot_is_refused_and_never_run(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(BadInput, match="is no snapshot of CUDA memory"):
        rigwise.read_memory_snapshot(tmp_path / "file")


def test_b83_other_devices_have_none(tmp_path: Path) -> None:
    start_recording(CpuDevice())
    assert leave_snapshot(CpuDevice(), tmp_path / "out_of_memory.pickle") == ""
    stop_recording(CpuDevice())
    assert list(tmp_path.iterdir()) == []
