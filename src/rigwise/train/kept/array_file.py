r"""Arrays in one file, mapped into memory, each known by the SHA-256 of what it was made of.

    NAME.bin     one array after the other
    index.tsv    one line for each: sha256, offset in bytes, its shape, CRC-32 of the array, CRC-32 of the line so far
    lock         held by whoever adds

An array is in the cache when its index line is whole: the line is written after the array has reached the disk. So
killing the writer at any moment, or a power cut, leaves a cache with fewer arrays, never with wrong ones. What is
behind the last indexed one is written over. A file that is replaced is unlinked, never cut short: another run may
have it mapped.
"""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, NamedTuple, NoReturn
from zlib import crc32

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

BYTES_BETWEEN_SYNCS = 64 * 2**20
"""Written before they are indexed: what a kill costs at most. Our choice: a tenth of a second of an SSD."""

MOST_STALE_RATIO = 0.5
"""The file is begun anew when more than this share of it belongs to what is no longer in DATA."""


class Entry(NamedTuple):
    """Where one array lies."""

    offset: int
    shape: tuple[int, ...]
    """But for the axes that all arrays of the file share."""
    num_bytes: int
    crc: int
    """CRC-32 of the array."""

    @property
    def end(self) -> int:
        """Offset of the byte behind the array."""
        return self.offset + self.num_bytes


class ArrayFile:
    """The arrays in one folder, as they were when it was opened, and what this process added.

    To add, open it under the lock: what another process has added since would be written over.
    """

    NAME: ClassVar[str] = "arrays.bin"
    LAST_AXES: ClassVar[tuple[int, ...]] = ()
    """The last axes, which all arrays of the file share."""

    def __init__(self, folder: Path, dtype: npt.DTypeLike) -> None:
        self.folder = folder
        self.dtype = np.dtype(dtype)
        self.entries = dict(self._read_index())
        self._map()
        self._end = max((entry.end for entry in self.entries.values()), default=0)

    def __contains__(self, sha256: str) -> bool:
        """Whether what was made of this is there."""
        return sha256 in self.entries

    def __reduce__(self) -> NoReturn:
        """Never sent to another process: pickling would copy every byte."""
        raise TypeError("kept arrays are mapped, not sent")

    @property
    def path(self) -> Path:
        """Where the arrays lie."""
        return self.folder / self.NAME

    def array(self, sha256: str) -> Array:
        """An array that is there; it is not copied and must not be written to."""
        entry = self.entries[sha256]
        return self._bytes[entry.offset : entry.end].view(self.dtype).reshape(*entry.shape, *self.LAST_AXES)

    def drop_damaged(self, wanted: set[str], advance: Callable[[], None]) -> int:
        """Forget every wanted array that is not what was written; returns how many.

        It reads all of them, so afterwards they are in the page cache.
        """
        found = [sha256 for sha256 in self.entries if sha256 in wanted]
        damaged = [sha256 for sha256 in found if not self._is_sound(sha256, advance)]
        for sha256 in damaged:
            del self.entries[sha256]
        return len(damaged)

    def num_bytes(self, wanted: set[str]) -> int:
        """Bytes of the wanted arrays that are there."""
        return sum(entry.num_bytes for sha256, entry in self.entries.items() if sha256 in wanted)

    def forget_stale(self, wanted: set[str]) -> None:
        """Forget all where most of it is not wanted; needs the lock."""
        every = set(self.entries)
        if self.num_bytes(every - wanted) > MOST_STALE_RATIO * self.num_bytes(every):
            self.start_anew()

    def start_anew(self) -> None:
        """Forget all; needs the lock."""
        for path in (self._index, self.path):
            path.unlink(missing_ok=True)
        self.entries, self._end = {}, 0
        self._map()

    def add(self, made: Iterator[tuple[str, Array]]) -> None:
        """Add arrays as they come, each by the SHA-256 of what it was made of; needs the lock.

        Whatever ends it, the arrays whose lines were written stay.

        Raises:
            OSError: the disk is full, or refuses.
        """
        with self.path.open("ab") as arrays, self._index.open("ab") as index:
            arrays.truncate(self._end)  # nothing behind it was ever indexed, so nobody reads it
            index.write(b"\n")  # ends a line that was cut off
            writer = _Writer(arrays, index, self._end)
            try:
                for sha256, array in made:
                    writer.write(sha256, np.ascontiguousarray(array, self.dtype), len(self.LAST_AXES))
            finally:
                self.entries |= writer.sync()
                self._end = writer.end
                self._map()

    @property
    def _index(self) -> Path:
        return self.folder / "index.tsv"

    def _read_index(self) -> Iterator[tuple[str, Entry]]:
        """Every whole line; one that is cut off or changed is left out."""
        lines = self._index.read_bytes().split(b"\n") if self._index.exists() else []
        item_bytes = self.dtype.itemsize * prod(self.LAST_AXES)
        for line in lines:
            start, _, check = line.rpartition(b"\t")
            if check == str(crc32(start)).encode():
                sha256, offset, *shape, crc = start.decode("ascii").split("\t")
                axes = tuple(map(int, shape))
                yield sha256, Entry(int(offset), axes, prod(axes) * item_bytes, int(crc))

    def _map(self) -> None:
        """Map the file; entries that reach over its end are forgotten, since reading there would kill the process."""
        size = self.path.stat().st_size if self.path.exists() else 0
        self.entries = {sha256: entry for sha256, entry in self.entries.items() if entry.end <= size}
        # Copy on write, so that torch takes the array without a warning; nobody writes to it.
        self._bytes = np.asarray(np.memmap(self.path, np.uint8, mode="c")) if size else np.empty(0, np.uint8)

    def _is_sound(self, sha256: str, advance: Callable[[], None]) -> bool:
        entry = self.entries[sha256]
        advance()
        return crc32(self._bytes[entry.offset : entry.end].data) == entry.crc


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
    """Appends arrays, and their index lines once the arrays are on the disk."""

    def __init__(self, arrays: BinaryIO, index: BinaryIO, end: int) -> None:
        self._arrays, self._index, self.end = arrays, index, end
        self._waiting: dict[str, Entry] = {}
        self._written: dict[str, Entry] = {}

    def write(self, sha256: str, array: Array, num_shared_axes: int) -> None:
        shape = array.shape[: array.ndim - num_shared_axes]
        self._arrays.write(array.data)
        self._waiting[sha256] = Entry(self.end, shape, array.nbytes, crc32(array.data))
        self.end += array.nbytes
        if self.end - next(iter(self._waiting.values())).offset >= BYTES_BETWEEN_SYNCS:
            self.sync()

    def sync(self) -> dict[str, Entry]:
        """Everything written so far, indexed."""
        _to_disk(self._arrays)
        self._index.writelines(_line(sha256, entry) for sha256, entry in self._waiting.items())
        _to_disk(self._index)
        self._written |= self._waiting
        self._waiting = {}
        return self._written


def _to_disk(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _line(sha256: str, entry: Entry) -> bytes:
    start = "\t".join(map(str, (sha256, entry.offset, *entry.shape, entry.crc)))
    return f"{start}\t{crc32(start.encode())}\n".encode()
