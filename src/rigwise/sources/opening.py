"""Opens what `--from PATH|-` names: a run folder, an evidence folder, a recognised file, or standard input."""

import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from rigwise.errors import BadInput
from rigwise.sources import layout
from rigwise.sources.pasted import PastedSource, Pieces, recognise, recognised_kinds
from rigwise.sources.recorded import RecordedSource, evidence_folder
from rigwise.sources.source import Source
from rigwise.speech import say

MAX_INPUT_BYTES = 64 * 2**20
MAX_FOLDER_FILES = 200
_EVIDENCE = (layout.NVML, layout.COMMAND_INDEX, layout.FILES, layout.FILE_INDEX, layout.KERNEL_LOG)


def open_source(path: str, standard_input: BinaryIO | None = None) -> Source:
    """The source behind `path`, or behind standard input for `-`.

    Raises:
        BadInput: there is nothing, or nothing that is recognised.
    """
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
            raise _unusable(str(folder), say("its tables are damaged: {failure}", failure=failure)) from failure
    pieces = Pieces()
    for file in _files_to_read(folder):
        pieces = pieces.joined(_pieces(file))
    if not pieces:
        raise _unusable(str(folder), say("no file in it is recognised"))
    return PastedSource(str(folder), pieces)


def _files_to_read(folder: Path) -> Iterator[Path]:
    """By name, together no larger than one input may be. In /proc, a file of size 0 may block whoever reads it."""
    room_bytes = MAX_INPUT_BYTES
    for file in sorted(entry for entry in folder.iterdir() if entry.is_file())[:MAX_FOLDER_FILES]:
        size_bytes = file.stat().st_size
        if 0 < size_bytes <= room_bytes:
            room_bytes -= size_bytes
            yield file


def _pieces(file: Path) -> Pieces:
    """What one file of a folder holds; nothing where it cannot be used, for other files may."""
    try:
        with file.open("rb") as stream:
            return recognise(_text(str(file), stream))
    except (BadInput, OSError):
        return Pieces()


def _from_stream(name: str, stream: BinaryIO) -> Source:
    pieces = recognise(_text(name, stream))
    if not pieces:
        raise _unusable(name, say("it is not recognised"))
    return PastedSource(name, pieces)


def _text(name: str, stream: BinaryIO) -> str:
    content = _read(name, stream)
    if content.startswith(b"\x1f\x8b"):
        try:
            content = _read(name, gzip.GzipFile(fileobj=io.BytesIO(content)))
        except (OSError, EOFError, zlib.error) as failure:
            raise _unusable(name, say("its gzip compression is damaged: {failure}", failure=failure)) from failure
    if not content.strip():
        raise _unusable(name, say("it is empty"))
    text = _decoded(content)
    if "\x00" in text:
        raise _unusable(name, say("it is a binary file"))
    return text


def _read(name: str, stream: BinaryIO | gzip.GzipFile) -> bytes:
    content = stream.read(MAX_INPUT_BYTES + 1)
    if len(content) > MAX_INPUT_BYTES:
        raise _unusable(name, say("it is larger than {limit} MiB", limit=MAX_INPUT_BYTES // 2**20))
    return content


def _decoded(content: bytes) -> str:
    """Text in UTF-8 or in UTF-16, as PowerShell writes it."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", "replace")
    if content[1:200:2].count(0) > len(content[1:200:2]) * 0.8:
        return content.decode("utf-16-le", "replace")
    return content.decode("utf-8-sig", "replace")


def _unusable(name: str, why: str) -> BadInput:
    return BadInput(
        say("cannot read a machine from {name}", name=name), why, say("give {kinds}", kinds=recognised_kinds())
    )
