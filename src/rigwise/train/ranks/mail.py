"""What the ranks of a job tell the leader: objects appended to one file for each rank, read as they come.

A file, because torchrun starts its processes without the pipes of its own parent, and because what a rank wrote is
still there after it was killed. No torch here: a rank can tell that its import fails.
"""

import pickle
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import msgspec

WORK_FILE, VERDICT_FILE, LOGS = "work.pickle", "verdict.json", "logs"
"""In the folder of a job: what the ranks do, how torchrun's agent saw them end, and what they printed."""
_LENGTH = struct.Struct("<Q")


class RankWork(Protocol):
    """What every rank of a job does; it is pickled, so it must be importable there."""

    def __call__(self, rank: Any) -> object:
        """Do it as this `Rank`; what rank 0 returns is the job's result."""


class Joined(msgspec.Struct, frozen=True):
    """A rank has begun."""

    pid: int


class Returned(msgspec.Struct, frozen=True):
    """A rank did its work to the end."""

    value: Any


class Verdict(msgspec.Struct, frozen=True):
    """How the job ended, as torchrun's agent saw it."""

    exit_codes: dict[int, int]
    """Of the ranks that did not end well; negative: the signal."""


class Outbox:
    """Where one rank puts what it tells."""

    def __init__(self, folder: Path, rank: int) -> None:
        self._file = _path(folder, rank).open("ab", buffering=0)

    def tell(self, message: object) -> None:
        """Append one object; the leader meets it whole or not at all."""
        content = pickle.dumps(message)
        self._file.write(_LENGTH.pack(len(content)) + content)


class Inbox:
    """What the ranks told; for the leader."""

    def __init__(self, folder: Path, num_ranks: int) -> None:
        self._paths = [_path(folder, rank) for rank in range(num_ranks)]
        self._read = [0] * num_ranks

    def new(self) -> Iterator[tuple[int, Any]]:
        """Rank and object, of everything told since the last call."""
        for rank, path in enumerate(self._paths):
            while (message := self._next(rank, path)) is not None:
                yield rank, pickle.loads(message)

    def _next(self, rank: int, path: Path) -> bytes | None:
        """The next whole object of a rank; None where there is none yet."""
        if not path.exists():
            return None
        with path.open("rb") as file:
            file.seek(self._read[rank])
            head = file.read(_LENGTH.size)
            if len(head) < _LENGTH.size:
                return None
            (length,) = _LENGTH.unpack(head)
            content = file.read(length)
        if len(content) < length:
            return None
        self._read[rank] += _LENGTH.size + length
        return content


def _path(folder: Path, rank: int) -> Path:
    return folder / f"told.{rank}"
