"""Where each regular file lies in a tar archive: nothing is unpacked, followed or created.

Reads POSIX ustar with pax and GNU long names, which is what WebDataset writes. Our own reader rather than `tarfile`,
because shards come from anywhere: every size is bounded before anything of that size is read, an archive is walked
forwards only, and links, devices and sparse files are never looked at.

POSIX.1-2017, pax Interchange Format; GNU tar manual, Basic Tar Format.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from rigwise.speech import say
from rigwise.train.pictures.picture_set import Inside

BLOCK = 512
MAX_NAME_BYTES = 64 * 1024
"""Longest header of names read. Our choice: Linux's PATH_MAX is 4096, and a pax header holds a few more records."""
MAX_MEMBERS = 10_000_000
"""Most members of one archive. Our choice: a thousand times those of a usual shard."""
REGULAR = (b"0", b"\0", b"7")
WITHOUT_CONTENT = (b"1", b"2", b"3", b"4", b"5", b"6")
"""Links, devices, folders and FIFOs: whatever size they claim, nothing follows their header."""
LONG_NAME, PAX = b"L", b"x"
SUM_AT = slice(148, 156)


class BadShardError(Exception):
    """An archive that cannot be read on; the message is the reason, in words."""


def members(root: Path, shard: str) -> Iterator[tuple[str, Inside]]:
    """Name and place of every regular file of the archive `root / shard`, in its order.

    Raises:
        BadShardError: it is no tar archive, or damaged or cut off from here on; what came before is sound.
    """
    try:
        status = os.stat(root / shard)
        if not stat.S_ISREG(status.st_mode):  # a FIFO would hang
            raise BadShardError(say("not a regular file"))
        with (root / shard).open("rb") as file:
            for name, offset, num_bytes in _regular_files(file, status.st_size):
                yield name, Inside(shard=shard, offset=offset, num_bytes=num_bytes)
    except OSError as error:
        raise BadShardError(say("cannot be read: {error}", error=error.strerror)) from error


def _regular_files(file: BinaryIO, size: int) -> Iterator[tuple[str, int, int]]:
    """Name, offset and bytes of each."""
    position = 0
    told: dict[str, str | int] = {}
    for _ in range(MAX_MEMBERS):
        file.seek(position)
        header = file.read(BLOCK)
        if not header.strip(b"\0") and len(header) in (0, BLOCK):
            return
        if len(header) < BLOCK or not _sums_up(header):
            raise BadShardError(say("not a tar archive, or damaged, at byte {position}", position=position))
        kind, num_bytes = header[156:157], _size(header)
        if kind in REGULAR:
            num_bytes = int(told.get("size", num_bytes))
        elif kind in WITHOUT_CONTENT:
            num_bytes = 0
        content = position + BLOCK
        if content + num_bytes > size:
            raise BadShardError(say("truncated: a member at byte {position} reaches over the end", position=position))
        position = content + -(-num_bytes // BLOCK) * BLOCK
        if kind in (LONG_NAME, PAX):
            told |= _told(kind, _read(file, num_bytes))
            continue
        if kind in REGULAR:
            yield str(told.get("path") or _name(header)), content, num_bytes
        told = {}
    raise BadShardError(say("more than {limit} members", limit=MAX_MEMBERS))


def _read(file: BinaryIO, num_bytes: int) -> bytes:
    if num_bytes > MAX_NAME_BYTES:
        raise BadShardError(say("a name header of {size} bytes", size=num_bytes))
    return file.read(num_bytes)


def _told(kind: bytes, content: bytes) -> dict[str, str | int]:
    """What a header of names says of the member that follows: its path, its size."""
    if kind == LONG_NAME:
        return {"path": _text(content)}
    told: dict[str, str | int] = {}
    while content:
        length = content.partition(b" ")[0]
        end = int(length) if length.isdigit() and len(length) < 8 else 0
        if not len(length) < end <= len(content):
            raise BadShardError(say("damaged pax header"))
        key, _, value = content[len(length) + 1 : end].rstrip(b"\n").partition(b"=")
        if key == b"path":
            told["path"] = _text(value)
        elif key == b"size" and value.isdigit() and len(value) < 20:
            told["size"] = int(value)
        content = content[end:]
    return told


def _sums_up(header: bytes) -> bool:
    """Whether the header's own checksum is right: the sum of its bytes, the checksum taken as spaces."""
    return _octal(header[SUM_AT]) == sum(header) - sum(header[SUM_AT]) + 8 * ord(" ")


def _size(header: bytes) -> int:
    """Bytes of the member, in octal digits, or in base 256 as GNU writes large ones."""
    field = header[124:136]
    size = int.from_bytes(field[1:], "big") if field[0] == 0x80 else _octal(field)
    if size is None:
        raise BadShardError(say("a size that is no number"))
    return size


def _octal(field: bytes) -> int | None:
    digits = field.strip(b" \0")
    return None if digits.strip(b"01234567") else int(digits or b"0", 8)


def _name(header: bytes) -> str:
    prefix = _text(header[345:500]) if header[257:263] == b"ustar\0" else ""  # GNU has times there
    name = _text(header[:100])
    return f"{prefix}/{name}" if prefix else name


def _text(field: bytes) -> str:
    return field.split(b"\0", 1)[0].decode("utf-8", "surrogateescape")
