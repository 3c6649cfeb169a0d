"""Opens what `--from PATH...|-` names: folders, archives and texts, recognised by what they hold."""

import io
import os
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from rigwise.errors import BadInput
from rigwise.sources import layout
from rigwise.sources.archived import evidence_root, recorded_in
from rigwise.sources.big_log import scan_blocks
from rigwise.sources.joined import JoinedSource
from rigwise.sources.pasted import PastedSource
from rigwise.sources.recognition.cutting import cuts
from rigwise.sources.recognition.decoding import decoded
from rigwise.sources.recognition.pieces import pieces
from rigwise.sources.recorded import RecordedSource, evidence_folder
from rigwise.sources.source import Source
from rigwise.sources.unpacking import DAMAGED, MAX_PART_BYTES, Part, Room, TooMuch, blocks, parts
from rigwise.speech import say

RUN_DATABASE = "run.sqlite"
"""What every run folder holds, whether or not its machine was noted."""
MAX_FOLDER_FILES = 2000
MAX_FOLDER_NAMES = 50_000
"""Looked at, whatever they are: a home folder or /proc holds millions."""
_EVIDENCE = (layout.NVML, layout.COMMAND_INDEX, layout.FILES, layout.FILE_INDEX, layout.KERNEL_LOG)


def open_source(paths: str | Sequence[str], standard_input: BinaryIO | None = None) -> Source:
    """The source behind one path or several that tell of one machine; `-` is standard input.

    Raises:
        BadInput: there is nothing, or nothing that can be read.
    """
    names = [paths] if isinstance(paths, str) else list(paths)
    sources = [_open(name, standard_input) for name in names]
    return sources[0] if len(sources) == 1 else JoinedSource(sources)


def _open(path: str, standard_input: BinaryIO | None) -> Source:
    if path == "-":
        return _from_stream(say("standard input"), standard_input or _standard_input())
    place = Path(path)
    try:
        if place.is_dir():
            return _from_folder(place)
        if place.exists() and not place.is_file():
            raise _unusable(path, say("it is neither a file nor a folder"))
        with place.open("rb") as file:
            return _from_stream(path, file)
    except FileNotFoundError:
        raise _unusable(path, say("there is no such file or folder")) from None
    except OSError as failure:
        raise _unusable(path, failure.strerror or str(failure)) from failure


def _standard_input() -> BinaryIO:
    """What is piped in; where standard input is closed, nothing."""
    return sys.stdin.buffer if sys.stdin is not None else io.BytesIO()


def _from_folder(folder: Path) -> Source:
    evidence = evidence_folder(folder)
    if any((evidence / part).exists() for part in _EVIDENCE):
        try:
            return RecordedSource(folder)
        except ValueError as failure:
            raise _damaged(folder, failure) from failure
    if (folder / RUN_DATABASE).exists():
        raise _unusable(str(folder), say("this run was stopped before anything of its machine was written down"))
    try:
        return _from_parts(str(folder), list(_parts_of_folder(folder)))
    except ValueError as failure:
        raise _damaged(folder, failure) from failure


def _damaged(folder: Path, failure: ValueError) -> BadInput:
    return _unusable(str(folder), say("its tables are damaged: {failure}", failure=failure))


def _parts_of_folder(folder: Path) -> Iterator[Part]:
    """What its files hold, those of folders in it too; files that cannot be used are left out, for others may."""
    room = Room()
    for file in _files(folder):
        try:
            with file.open("rb") as stream:
                if room.enter():
                    yield from list(parts(str(file.relative_to(folder)), stream, room))
        except (TooMuch, *DAMAGED):
            continue


def _files(folder: Path) -> Iterator[Path]:
    """By name. In /proc, a file of size 0 may block whoever reads it."""
    yield from islice(filter(_holds_something, islice(_names(folder), MAX_FOLDER_NAMES)), MAX_FOLDER_FILES)


def _names(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders.sort()
        yield from (Path(place, name) for name in sorted(names))


def _holds_something(file: Path) -> bool:
    try:
        return file.is_file() and file.stat().st_size > 0
    except OSError:  # not for this user, or gone
        return False


def _from_stream(name: str, stream: BinaryIO) -> Source:
    if not stream.seekable():
        stream = _in_memory(stream)
    try:
        return _from_parts(name, list(parts(name, stream, Room())))
    except TooMuch as failure:
        raise _unusable(name, str(failure)) from failure
    except DAMAGED as failure:
        raise _unusable(name, say("what it is packed in is damaged: {failure}", failure=failure)) from failure


def _from_parts(name: str, found: Sequence[Part]) -> Source:
    root = evidence_root(found)
    if root is not None:
        return recorded_in(found, root, name)
    texts = [(part.name, decoded(part.content)) for part in found if part.content.strip()]
    if not texts:
        raise _unusable(name, say("it is empty"))
    if all(text is None for _, text in texts):
        raise _unusable(name, say("it is a binary file"))
    return PastedSource(name, pieces(cut for file, text in texts if text is not None for cut in cuts(text, file)))


def _in_memory(stream: BinaryIO) -> BinaryIO:
    """What a pipe holds; of more than one text may be, the lines that matter."""
    content = stream.read(MAX_PART_BYTES + 1)
    return io.BytesIO(content if len(content) <= MAX_PART_BYTES else scan_blocks(blocks(content, stream)))


def _unusable(name: str, why: str) -> BadInput:
    return BadInput(say("cannot read a machine from {name}", name=name), why, say("give {kinds}", kinds=_kinds()))


def _kinds() -> str:
    return say("a run folder, or a text: the output of nvidia-smi, a kernel log, an error message")
