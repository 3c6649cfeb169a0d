"""What lies in compressed files and archives, as parts in memory: bounded in size, number and compression ratio.

Nothing is written anywhere, and no name in an archive is ever used as a path of this machine. Links, devices and
names that lead out of the archive are left out.
"""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import IO, Any, BinaryIO, NamedTuple

from rigwise.sources.big_log import BLOCK_BYTES, scan_blocks, scan_file
from rigwise.sources.recognition.decoding import decoded
from rigwise.speech import say

MAX_PART_BYTES = 32 * 2**20
"""Beyond this only the lines that matter of a kernel log are read."""
MAX_TOTAL_BYTES = 64 * 2**20
"""What all parts together may hold."""
MAX_PARTS = 2000
MAX_MEMBERS = 20_000
MAX_DEPTH = 3
MAX_UNPACKED_BYTES = 4 * 2**30
MAX_RATIO = 150
"""Logs of real machines compress 5 to 50 times; a bomb of zeros 230 to 1,030 times with gzip, more with others."""
JUDGED_FROM_BYTES = 8 * 2**20
DAMAGED = (
    OSError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
    ValueError,
    NotImplementedError,
)
_COMPRESSED: dict[bytes, Callable[[BinaryIO], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
}
_ZIP = b"PK\x03\x04"


class Part(NamedTuple):
    """One file that was given or found in an archive."""

    name: str
    content: bytes


class TooMuch(Exception):
    """An archive unpacks to more than anybody would send; the argument says what."""


class Room:
    """What may still be unpacked."""

    def __init__(self) -> None:
        self.num_bytes = MAX_TOTAL_BYTES
        self.num_parts = MAX_PARTS
        self.num_members = MAX_MEMBERS

    def enter(self) -> bool:
        """Counts a member; False where there is no room for what it holds."""
        self.num_members -= 1
        if self.num_members < 0:
            raise TooMuch(say("it holds more than {limit} files", limit=MAX_MEMBERS))
        return self.num_parts > 0 and self.num_bytes > 0

    def take(self, content: bytes) -> None:
        """Counts a part."""
        self.num_parts -= 1
        self.num_bytes -= len(content)


class Unpacked(io.RawIOBase):
    """A decompressed stream that stops where its compression ratio is that of a bomb."""

    def __init__(self, packed: BinaryIO, unpacked: IO[bytes]) -> None:
        self._packed, self._unpacked = packed, unpacked
        self._begin, self._num_bytes = packed.tell(), 0

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """The next bytes."""
        content = self._unpacked.read(min(len(buffer), 2**16))
        self._num_bytes += len(content)
        if self._num_bytes > JUDGED_FROM_BYTES:
            ratio = self._num_bytes / max(1, self._packed.tell() - self._begin)
            if ratio > MAX_RATIO or self._num_bytes > MAX_UNPACKED_BYTES:
                raise TooMuch(
                    say("it unpacks to {ratio} times its size, as a decompression bomb does", ratio=round(ratio))
                )
        buffer[: len(content)] = content
        return len(content)


def parts(name: str, stream: BinaryIO, room: Room, depth: int = 0) -> Iterator[Part]:
    """Every file behind a stream that can be sought in, whatever it is packed in.

    Raises:
        TooMuch: it is a bomb, or larger than anybody would send.
        OSError, ValueError and others of DAMAGED: an archive is damaged.
    """
    head = stream.read(512)
    stream.seek(-len(head), io.SEEK_CUR)
    opener = next((opener for magic, opener in _COMPRESSED.items() if head.startswith(magic)), None)
    if depth < MAX_DEPTH and opener is not None:
        unpacked = io.BufferedReader(Unpacked(stream, opener(stream)), BLOCK_BYTES)
        yield from _unseekable_parts(_without_ending(name), unpacked, room, depth)
    elif depth < MAX_DEPTH and head.startswith(_ZIP):
        yield from _zip_parts(stream, room, depth)
    elif depth < MAX_DEPTH and head[257:262] == b"ustar":
        yield from _tar_parts(stream, room, depth)
    else:
        is_binary = b"\x00" in head and decoded(head) is None  # a disk image of terabytes is not read for nothing
        content = head if is_binary else _content(stream)
        room.take(content)
        yield Part(name, content)


def _unseekable_parts(name: str, stream: "io.BufferedReader[Unpacked]", room: Room, depth: int) -> Iterator[Part]:
    """The parts of a decompressed stream: an archive is read as it comes, anything else in memory."""
    if stream.peek(512)[257:262] == b"ustar":
        yield from _tar_parts(stream, room, depth + 1)
    else:
        yield from parts(name, io.BytesIO(_content(stream)), room, depth + 1)


def _tar_parts(stream: BinaryIO, room: Room, depth: int) -> Iterator[Part]:
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            if room.enter() and member.isreg() and not member.issparse() and _stays_inside(member.name):
                file = archive.extractfile(member)
                if file is not None:
                    yield from parts(member.name, io.BytesIO(_content(file)), room, depth + 1)


def _zip_parts(stream: BinaryIO, room: Room, depth: int) -> Iterator[Part]:
    with zipfile.ZipFile(stream) as archive:
        for member in archive.infolist():
            if not room.enter() or member.is_dir() or member.flag_bits & 1 or not _stays_inside(member.filename):
                continue
            if member.file_size > JUDGED_FROM_BYTES and member.file_size > MAX_RATIO * member.compress_size:
                raise TooMuch(
                    say("it unpacks to {ratio} times its size, as a decompression bomb does", ratio=MAX_RATIO)
                )
            with archive.open(member) as file:
                yield from parts(member.filename, io.BytesIO(_content(file)), room, depth + 1)


def _content(stream: IO[bytes]) -> bytes:
    """Everything; of a log too large for that, the lines that matter."""
    content = stream.read(MAX_PART_BYTES + 1)
    if len(content) <= MAX_PART_BYTES:
        return content
    on_disk = isinstance(stream, io.BufferedReader) and isinstance(stream.raw, io.FileIO) and stream.seekable()
    kept = scan_file(stream) if on_disk else scan_blocks(blocks(content, stream))
    if not kept:
        limit = MAX_PART_BYTES // 2**20
        raise TooMuch(say("it is larger than {limit} MiB, and no line of it is a kernel log's", limit=limit))
    return kept


def blocks(content: bytes, stream: IO[bytes]) -> Iterator[bytes]:
    """What was read of a stream, and what is still to come."""
    yield content
    while block := stream.read(BLOCK_BYTES):
        yield block


def _stays_inside(name: str) -> bool:
    path = PurePosixPath(name.replace("\\", "/"))
    return not path.is_absolute() and ".." not in path.parts and "\x00" not in name


def _without_ending(name: str) -> str:
    return name.removesuffix(PurePosixPath(name).suffix)
