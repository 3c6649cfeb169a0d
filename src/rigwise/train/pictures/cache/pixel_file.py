r"""Decoded pictures in one file, mapped into memory, each known by the SHA-256 of the picture file it came from.

    pixels.bin   uint8 `(H, W, 3)` of one picture after the other
    index.tsv    one line for each: sha256, offset in bytes, H, W, CRC-32 of the pixels, CRC-32 of the line so far
    lock         held by whoever adds

A picture is in the cache when its index line is whole: the line is written after its pixels have reached the disk. So
killing the writer at any moment, or a power cut, leaves a cache with fewer pictures, never with wrong ones. What is
behind the last indexed pixel is written over. A file that is replaced is unlinked, never cut short: another run may
have it mapped.
"""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple, NoReturn
from zlib import crc32

import numpy as np

from rigwise.train.pictures.decode import Pixels

BYTES_BETWEEN_SYNCS = 64 * 2**20
"""Pixels written before they are indexed: what a kill costs at most. Our choice: a tenth of a second of an SSD."""


class Entry(NamedTuple):
    """Where the pixels of one picture lie."""

    offset: int
    height: int
    width: int
    crc: int
    """CRC-32 of the pixels."""

    @property
    def num_bytes(self) -> int:
        """Bytes of the pixels."""
        return self.height * self.width * 3

    @property
    def end(self) -> int:
        """Offset of the byte behind the pixels."""
        return self.offset + self.num_bytes


class PixelFile:
    """The cache in one folder, as it was when opened, and what this process added.

    To add, open it under the lock: what another process has added since would be written over.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.entries = dict(_read_index(folder / "index.tsv"))
        self._map()
        self._end = max((entry.end for entry in self.entries.values()), default=0)

    def __contains__(self, sha256: str) -> bool:
        """Whether the pixels of this picture file are there."""
        return sha256 in self.entries

    def __reduce__(self) -> NoReturn:
        """Never sent to another process: pickling would copy every pixel."""
        raise TypeError("decoded pictures are mapped, not sent")

    def pixels(self, sha256: str) -> Pixels:
        """The pixels of a picture that is there, uint8 `(H, W, 3)`; they are not copied and must not be written to."""
        entry = self.entries[sha256]
        return self._pixels[entry.offset : entry.end].reshape(entry.height, entry.width, 3)

    def drop_damaged(self, wanted: set[str], advance: Callable[[], None]) -> int:
        """Forget every wanted picture whose pixels are not what was written; returns how many.

        It reads all of them, so afterwards they are in the page cache.
        """
        found = [sha256 for sha256 in self.entries if sha256 in wanted]
        damaged = [sha256 for sha256 in found if not self._is_sound(sha256, advance)]
        for sha256 in damaged:
            del self.entries[sha256]
        return len(damaged)

    def num_bytes(self, wanted: set[str]) -> int:
        """Bytes of the pixels of the wanted pictures that are there."""
        return sum(entry.num_bytes for sha256, entry in self.entries.items() if sha256 in wanted)

    def start_anew(self) -> None:
        """Forget all pictures; needs the lock."""
        for name in ("index.tsv", "pixels.bin"):
            (self.folder / name).unlink(missing_ok=True)
        self.entries, self._end = {}, 0
        self._map()

    def add(self, decoded: Iterator[tuple[str, Pixels]]) -> None:
        """Add pictures as they come, each by the SHA-256 of its file; needs the lock.

        Whatever ends it, the pictures whose lines were written stay.

        Raises:
            OSError: the disk is full, or refuses.
        """
        with (self.folder / "pixels.bin").open("ab") as pixels, (self.folder / "index.tsv").open("ab") as index:
            pixels.truncate(self._end)  # nothing behind it was ever indexed, so nobody reads it
            index.write(b"\n")  # ends a line that was cut off
            writer = _Writer(pixels, index, self._end)
            try:
                for sha256, picture in decoded:
                    writer.write(sha256, picture)
            finally:
                self.entries |= writer.sync()
                self._end = writer.end
                self._map()

    def _map(self) -> None:
        """Map the file; entries that reach over its end are forgotten, since reading there would kill the process."""
        path = self.folder / "pixels.bin"
        size = path.stat().st_size if path.exists() else 0
        self.entries = {sha256: entry for sha256, entry in self.entries.items() if entry.end <= size}
        # Copy on write, so that torch takes the array without a warning; nobody writes to it.
        self._pixels = np.asarray(np.memmap(path, np.uint8, mode="c")) if size else np.empty(0, np.uint8)

    def _is_sound(self, sha256: str, advance: Callable[[], None]) -> bool:
        entry = self.entries[sha256]
        advance()
        return crc32(self._pixels[entry.offset : entry.end].data) == entry.crc


@contextmanager
def lock(folder: Path) -> Iterator[bool]:
    """Whether this process alone may add while the context lasts; freed by its end, however it ends."""
    with (folder / "lock").open("wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


class _Writer:
    """Appends pixels, and their index lines once the pixels are on the disk."""

    def __init__(self, pixels: BinaryIO, index: BinaryIO, end: int) -> None:
        self._pixels, self._index, self.end = pixels, index, end
        self._waiting: dict[str, Entry] = {}
        self._written: dict[str, Entry] = {}

    def write(self, sha256: str, picture: Pixels) -> None:
        height, width, _ = picture.shape
        self._pixels.write(picture.data)
        self._waiting[sha256] = Entry(self.end, height, width, crc32(picture.data))
        self.end += picture.nbytes
        if self.end - next(iter(self._waiting.values())).offset >= BYTES_BETWEEN_SYNCS:
            self.sync()

    def sync(self) -> dict[str, Entry]:
        """Everything written so far, indexed."""
        _to_disk(self._pixels)
        self._index.writelines(_line(sha256, entry) for sha256, entry in self._waiting.items())
        _to_disk(self._index)
        self._written |= self._waiting
        self._waiting = {}
        return self._written


def _to_disk(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _line(sha256: str, entry: Entry) -> bytes:
    start = "\t".join(map(str, (sha256, *entry)))
    return f"{start}\t{crc32(start.encode())}\n".encode()


def _read_index(path: Path) -> Iterator[tuple[str, Entry]]:
    """Every whole line; one that is cut off or changed is left out."""
    lines = path.read_bytes().split(b"\n") if path.exists() else []
    for line in lines:
        start, _, check = line.rpartition(b"\t")
        if check == str(crc32(start)).encode():
            sha256, *numbers = start.decode("ascii").split("\t")
            yield sha256, Entry(*map(int, numbers))
