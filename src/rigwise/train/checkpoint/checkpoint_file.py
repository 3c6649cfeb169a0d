"""One checkpoint file: written whole or not at all, and known to be whole when it is read.

The name ends with the first digits of the content's SHA-256, as files of PyTorch's own hub do
(https://docs.pytorch.org/docs/stable/hub.html#torch.hub.load_state_dict_from_url), so that file and checksum appear in
one rename. The content is what `torch.load(path, weights_only=True)` gives: reading it runs no code of the file.
"""

import contextlib
import hashlib
import os
import pickle
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import torch

from rigwise.errors import BadInput, CannotWrite
from rigwise.speech import say
from rigwise.units import MIB, memory

HASH_DIGITS = 16
"""Our choice: 64 bits; a torn or bit-flipped file passes once in 2^64."""
UNFINISHED = ".unfinished"
DAMAGED = ".damaged"
SPARE_BYTES = 16 * MIB
"""Stay free. Our choice: what run.sqlite and its log grow by in the minutes between two checkpoints."""
_CHUNK_BYTES = MIB
_NAME = re.compile(r"step(\d+)-([0-9a-f]{16})\.pt")


class Damaged(Exception):
    """The file is not what was written."""


def checkpoint_files(folder: Path) -> list[Path]:
    """The checkpoints of a folder, newest first, by their names alone; empty where there is no folder."""
    named = [path for path in folder.glob("step*.pt") if _NAME.fullmatch(path.name)]
    return sorted(named, key=lambda path: (step_of(path), path.stat().st_mtime_ns), reverse=True)


def step_of(path: Path) -> int:
    """The step a file was saved after.

    >>> step_of(Path("step000000150-0123456789abcdef.pt"))
    150
    """
    match = _NAME.fullmatch(path.name)
    assert match is not None
    return int(match[1])


def write_checkpoint(folder: Path, step: int, content: Mapping[str, Any]) -> Path:
    """The file, which has been read back from the disk and holds `content`.

    Raises:
        CannotWrite: no space, read-only, or the disk gave back other bytes; nothing is left behind.
        BadInput: `content` holds what cannot be read back without running code.
    """
    unfinished = folder / f"step{step:09}{UNFINISHED}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _need_space(folder, content)
        digest = _write(unfinished, content)
        _read_back(unfinished, digest, content)
        path = folder / f"step{step:09}-{digest[:HASH_DIGITS]}.pt"
        unfinished.replace(path)
        _sync_folder(folder)
    except OSError as error:
        raise CannotWrite(
            say("the checkpoint of step {step} was not written to {folder}", step=step, folder=folder),
            error.strerror or str(error),
            say("df -h {folder}, make room; earlier checkpoints are still there", folder=folder),
        ) from error
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink()
    return path


def read_checkpoint(path: Path) -> dict[str, Any]:
    """What was written, its tensors on the CPU.

    Raises:
        Damaged: saying in words how it is not what was written.
    """
    try:
        _must_hold(path, path.stem.rpartition("-")[2])
        with path.open("rb") as file:  # torch itself opens no name that is not UTF-8
            content: dict[str, Any] = torch.load(file, map_location="cpu", weights_only=True)
    except OSError as error:
        raise Damaged(error.strerror or str(error)) from error
    except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError, KeyError) as error:
        raise Damaged(str(error).splitlines()[0]) from error
    return content


def remove_unfinished(folder: Path) -> None:
    """Remove what a process that was killed in the middle of writing left."""
    for path in folder.glob(f"*{UNFINISHED}"):
        path.unlink(missing_ok=True)


def _need_space(folder: Path, content: Mapping[str, Any]) -> None:
    need_bytes = sum(tensor.nbytes for tensor in _tensors(content)) + SPARE_BYTES
    total_bytes, _, free_bytes = shutil.disk_usage(folder)
    if total_bytes and free_bytes < need_bytes:  # a file system that does not say its size says 0
        raise OSError(say("it takes {need}, and {free} are free", need=memory(need_bytes), free=memory(free_bytes)))


def _tensors(content: Any) -> Iterator[torch.Tensor]:
    if isinstance(content, torch.Tensor):
        yield content
    elif isinstance(content, Mapping):
        for value in content.values():
            yield from _tensors(value)
    elif isinstance(content, list | tuple):
        for value in content:
            yield from _tensors(value)


class _Hashing:
    """A file that computes the SHA-256 of what goes into it, and remembers why the disk refused more."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.sha256 = hashlib.sha256()
        self.refused: OSError | None = None

    def write(self, data: bytes | memoryview) -> int:
        """Bytes written."""
        try:
            self._file.write(data)
        except OSError as error:
            self.refused = error
            raise
        self.sha256.update(data)
        return memoryview(data).nbytes

    def flush(self) -> None:
        """Hand everything to the system."""
        self._file.flush()


def _write(path: Path, content: Mapping[str, Any]) -> str:
    """The SHA-256 of what reached the disk."""
    with path.open("wb") as file:
        hashing = _Hashing(file)
        try:
            torch.save(dict(content), hashing)  # type: ignore[arg-type]  # it writes and flushes, nothing else
        except RuntimeError as error:
            raise hashing.refused or error from error  # PyTorch's own words do not say why
        file.flush()
        os.fsync(file.fileno())
    return hashing.sha256.hexdigest()


def _read_back(path: Path, digest: str, content: Mapping[str, Any]) -> None:
    try:
        _must_hold(path, digest)
    except Damaged as error:
        raise OSError(str(error)) from error
    try:
        with path.open("rb") as file:
            # Mapped, so that it is not in memory twice; torch maps no name that is not UTF-8.
            mapped = not re.search("[\ud800-\udfff]", str(path))
            torch.load(path if mapped else file, map_location="cpu", weights_only=True, mmap=mapped)
    except pickle.UnpicklingError as error:
        raise BadInput(
            say("{what} cannot be kept in a checkpoint", what=_first_foreign("", content)),
            say("it holds tensors, numbers, text, and lists and dicts of them, so that reading it back runs no code"),
            say("turn it into those, say with .tolist()"),
        ) from error


def _first_foreign(name: str, content: Any) -> str:
    """Name and type of the first value that is nothing of PyTorch's and nothing plain; "" where there is none."""
    if isinstance(content, Mapping):
        return next(filter(None, (_first_foreign(f"{name}.{key}", each) for key, each in content.items())), "")
    if isinstance(content, list | tuple | set):
        return next(filter(None, (_first_foreign(f"{name}[{at}]", each) for at, each in enumerate(content))), "")
    known = content is None or isinstance(content, bool | int | float | str | bytes | torch.Tensor)
    ours = known and type(content).__module__ in ("builtins", "torch", "torch.nn.parameter")
    return "" if ours else f"{name.removeprefix('.')} ({type(content).__module__}.{type(content).__qualname__})"


def _must_hold(path: Path, digest: str) -> None:
    """Nothing, when the bytes on the disk have this SHA-256, of which the first digits may be given.

    The kernel is told to forget its own copy first, so that what is read comes from the disk where it can.
    """
    sha256 = hashlib.sha256()
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        while chunk := file.read(_CHUNK_BYTES):
            sha256.update(chunk)
    found = sha256.hexdigest()[: len(digest)]
    if found != digest:
        size_bytes = path.stat().st_size
        raise Damaged(say("its {size} bytes do not have the checksum {digest}", size=size_bytes, digest=digest))


def _sync_folder(folder: Path) -> None:
    """The names in the folder reach the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
