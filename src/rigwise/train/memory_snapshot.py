"""What held a GPU's memory when it ran out: PyTorch's snapshot, kept as a file, and a summary that names lines of code.

PyTorch keeps with each block the stack that took it, while recording is on
(https://docs.pytorch.org/docs/stable/torch_cuda_memory.html). A snapshot without recorded stacks is told as what it is:
sizes, and no lines. The file opens in the viewer at https://pytorch.org/memory_viz.
"""

import io
import pickle
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import torch

from rigwise.errors import BadInput
from rigwise.speech import say
from rigwise.train.fault_line import is_own_file
from rigwise.train.step.device import Device
from rigwise.units import memory, percent

MOST_PLACES = 5
"""Our choice: as many lines as one reads."""
MOST_ENTRIES = 20_000
"""Of the history of events; PyTorch expects several KB for each, and a step of a picture model makes some thousand."""

Snapshot = Mapping[str, Any]
"""As `torch.cuda.memory._snapshot` gives it: segments of blocks, and events by device."""


class LiveBlocks(msgspec.Struct, frozen=True, kw_only=True):
    """Blocks in use that one line of code took."""

    place: str
    """File, line and function; "" where no stack was recorded."""
    num_bytes: int
    num_blocks: int


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """Who held the memory."""

    live_bytes: int
    reserved_bytes: int
    num_events: int
    """Recorded takings and returns of memory; 0 where recording was off."""
    largest: tuple[LiveBlocks, ...]
    """Most bytes first."""

    @property
    def is_recorded(self) -> bool:
        """Whether there is anything to read in it beside sizes."""
        return self.num_events > 0 or any(blocks.place for blocks in self.largest)

    @property
    def text(self) -> str:
        """The summary in lines."""
        first = say(
            "{live} in use, {reserved} reserved, {events} events recorded",
            live=memory(self.live_bytes),
            reserved=memory(self.reserved_bytes),
            events=self.num_events,
        )
        if not self.is_recorded:
            return say("{first}: recording was off, so that no line of code is known", first=first)
        return "\n".join([first, *(_line(blocks, self.live_bytes) for blocks in self.largest[:MOST_PLACES])])


def start_recording(device: Device) -> None:
    """From now on PyTorch keeps the stack of each block it hands out on a CUDA device: 2 microseconds for each."""
    if device.torch_device.type == "cuda":
        torch.cuda.memory._record_memory_history(stacks="python", max_entries=MOST_ENTRIES)


def stop_recording(device: Device) -> None:
    """PyTorch keeps no more stacks."""
    if device.torch_device.type == "cuda":
        torch.cuda.memory._record_memory_history(enabled=None)


def leave_snapshot(device: Device, path: Path) -> str:
    """A summary of what a CUDA device holds now; its snapshot is at `path` if it is worth reading, "" elsewhere."""
    if device.torch_device.type != "cuda":
        return ""
    return keep_snapshot(torch.cuda.memory._snapshot(device.torch_device), path)


def keep_snapshot(snapshot: Snapshot, path: Path) -> str:
    """The summary of a snapshot, which is written to `path` where something was recorded in it."""
    summary = summary_of(snapshot)
    if not summary.is_recorded:
        return summary.text
    try:
        path.write_bytes(pickle.dumps(snapshot))
    except OSError as error:
        return say("{text}\nthe snapshot could not be kept: {why}", text=summary.text, why=error.strerror or str(error))
    return say("{text}\nthe snapshot is {name}, for https://pytorch.org/memory_viz", text=summary.text, name=path.name)


def read_memory_snapshot(path: Path) -> Summary:
    """The summary of a snapshot that was written as a pickle.

    Raises:
        BadInput: it cannot be read, or is no snapshot of CUDA memory.
    """
    try:
        snapshot = _PlainUnpickler(io.BytesIO(path.read_bytes())).load()
        return summary_of(snapshot)
    except (OSError, pickle.UnpicklingError, EOFError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise BadInput(
            say("{path} is no snapshot of CUDA memory", path=path),
            str(error) or type(error).__name__,
            say("give a file that torch.cuda.memory._dump_snapshot wrote"),
        ) from error


def summary_of(snapshot: Snapshot) -> Summary:
    """Who holds the memory of a snapshot."""
    by_place: dict[str, list[int]] = defaultdict(list)
    for block in _live_blocks(snapshot):
        by_place[_place(_frames(block))].append(int(block["size"]))
    largest = [
        LiveBlocks(place=place, num_bytes=sum(sizes), num_blocks=len(sizes)) for place, sizes in by_place.items()
    ]
    return Summary(
        live_bytes=sum(blocks.num_bytes for blocks in largest),
        reserved_bytes=sum(int(segment["total_size"]) for segment in snapshot["segments"]),
        num_events=sum(len(events) for events in snapshot.get("device_traces", ())),
        largest=tuple(sorted(largest, key=lambda blocks: -blocks.num_bytes)),
    )


def _live_blocks(snapshot: Snapshot) -> Iterator[Mapping[str, Any]]:
    for segment in snapshot["segments"]:
        yield from (block for block in segment["blocks"] if block["state"].startswith("active"))


def _frames(block: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The stack that took it, innermost first; PyTorch before 2.1 kept it in a history."""
    frames = block.get("frames") or next((past.get("frames") for past in block.get("history", ())), None)
    return frames or ()


def _place(frames: Sequence[Mapping[str, Any]]) -> str:
    """The innermost line of the person's own; else of any Python file."""
    known = [frame for frame in frames if frame["filename"].endswith(".py")]
    frame = next((frame for frame in known if is_own_file(frame["filename"])), known[0] if known else None)
    if frame is None:
        return ""
    file = Path(frame["filename"]).name
    return say("{file}, line {line}, in {name}", file=file, line=frame["line"], name=frame["name"])


def _line(blocks: LiveBlocks, live_bytes: int) -> str:
    return say(
        "{size} ({share}): {place}",
        size=memory(blocks.num_bytes),
        share=percent(blocks.num_bytes / live_bytes),
        place=blocks.place or say("no line recorded, as for gradients and what was there before"),
    )


class _PlainUnpickler(pickle.Unpickler):
    """Reads lists, dictionaries, texts and numbers: a snapshot holds nothing else, and a pickle could run anything."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(say("it holds {module}.{name}", module=module, name=name))
