"""The folder a run leaves behind: where each file lies, how the folder is made, and how text is put into it.

A run folder is never overwritten: a new run takes an absent or empty folder, or is refused.
"""

import contextlib
import errno
import os
import shutil
from datetime import date
from pathlib import Path

import msgspec

from rigwise.errors import BadInput, CannotWrite
from rigwise.speech import say
from rigwise.units import MIB, memory

MANIFEST_SCHEMA = "rigwise.run/1"
MIN_FREE_BYTES = 64 * MIB
"""An hour with one GPU and 16 cores takes 24 MiB of run.sqlite and 4 MiB of its write-ahead log (measured: 417,600
samples); report.html, which carries plotly's own 5 MiB, the charts and the thumbnails, takes most of the rest."""

_NAMES_A_BAD_PATH = {errno.ENAMETOOLONG, errno.ENOTDIR, errno.EEXIST, errno.ELOOP, errno.EINVAL}


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """manifest.json: what this folder is."""

    schema: str = MANIFEST_SCHEMA
    kind: str
    """The command that made it: `train`, `run` or `record`."""
    started_at: str
    """UTC, ISO 8601."""
    rigwise_version: str
    versions: dict[str, str] = {}
    """What it ran with: python, torch, driver ..."""
    masked: bool = False
    """Whether serial numbers, host and user names were masked."""


class RunFolder(msgspec.Struct, frozen=True):
    """The paths of one run."""

    path: Path

    @property
    def name(self) -> str:
        """The folder's own name: `2026-11-30-1`."""
        return self.path.resolve().name

    @property
    def manifest(self) -> Path:
        """What, when, versions."""
        return self.path / "manifest.json"

    @property
    def evidence(self) -> Path:
        """Folder of the raw answers of the machine."""
        return self.path / "evidence"

    @property
    def database(self) -> Path:
        """Steps, samples, events, trials and facts."""
        return self.path / "run.sqlite"

    @property
    def report(self) -> Path:
        """The one page for people."""
        return self.path / "report.html"

    @property
    def recipe(self) -> Path:
        """The recipe as it ran, whole."""
        return self.path / "recipe.toml"

    @property
    def memory_snapshot(self) -> Path:
        """What held a GPU's memory when it ran out; there only if that was recorded."""
        return self.path / "out_of_memory.pickle"

    @property
    def lock(self) -> Path:
        """Exact versions of the packages it ran with."""
        return self.path / "lock.txt"

    def write_manifest(self, manifest: Manifest) -> None:
        """Write manifest.json."""
        write_text(self.manifest, msgspec.json.format(msgspec.json.encode(manifest), indent=2).decode() + "\n")


def default_run_folder(today: date, base: Path = Path("runs")) -> Path:
    """The first unused folder of the day: `runs/2026-11-30-1`."""
    taken = (base / f"{today.isoformat()}-{number}" for number in range(1, 1_000_000))
    return next(path for path in taken if not os.path.lexists(path))


def create_next_run_folder(today: date, base: Path = Path("runs")) -> RunFolder:
    """The first unused folder of the day, made; runs that start at the same time get one each.

    Raises:
        BadInput: `base` is no folder.
        CannotWrite: read-only, not permitted, or too little space.
    """
    while True:
        path = default_run_folder(today, base)
        try:
            return create_run_folder(path)
        except BadInput:
            if not path.exists():
                raise
            # Another run took this number meanwhile.


def create_run_folder(path: Path) -> RunFolder:
    """An empty run folder, made with its parents.

    Raises:
        BadInput: the path exists and is not an empty folder, or cannot name one.
        CannotWrite: read-only, not permitted, or too little space.
    """
    refuse_unusable(path)
    folder = RunFolder(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
        folder.evidence.mkdir()
    except (OSError, ValueError) as error:
        raise _cannot_create(path, error) from error
    return folder


def refuse_unusable(path: Path) -> None:
    """Nothing, when a run folder may be made there; changes nothing.

    Raises:
        BadInput: the path exists and is not an empty folder, or cannot name one.
        CannotWrite: read-only, not permitted, or too little space.
    """
    try:
        _refuse_used(path)
        existing = next(parent for parent in (path.absolute(), *path.absolute().parents) if parent.exists())
        _refuse_unwritable(existing)
        _refuse_full(path, existing)
    except (OSError, ValueError) as error:
        raise _cannot_create(path, error) from error


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all: a reader never meets half of it.

    Raises:
        CannotWrite: read-only, not permitted, or no space.
    """
    unfinished = path.with_name(path.name + ".unfinished")
    try:
        unfinished.write_text(text, encoding="utf-8", errors="surrogateescape")
        unfinished.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            unfinished.unlink()
        raise _cannot_write(path, error) from error


def _refuse_used(path: Path) -> None:
    if not os.path.lexists(path):
        return
    if path.is_dir() and not any(path.iterdir()):
        return
    raise BadInput(
        say("{path} is already in use", path=path),
        say("a run folder is never overwritten; this one exists and is not an empty folder"),
        say("give a new folder with --out, or leave --out away for the next free one under runs/"),
    )


def _refuse_unwritable(existing: Path) -> None:
    if not existing.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    if not os.access(existing, os.W_OK | os.X_OK):
        reason = errno.EROFS if os.statvfs(existing).f_flag & os.ST_RDONLY else errno.EACCES
        raise OSError(reason, os.strerror(reason))


def _refuse_full(path: Path, existing: Path) -> None:
    total_bytes, _, free_bytes = shutil.disk_usage(existing)
    if total_bytes and free_bytes < MIN_FREE_BYTES:  # a file system that does not say its size says 0
        raise CannotWrite(
            say("too little space for a run in {path}", path=path),
            say("{free} are free; a run needs {need}", free=memory(free_bytes), need=memory(MIN_FREE_BYTES)),
            say("df -h {existing}, make room or choose another disk with --out, then start again", existing=existing),
        )


def _cannot_create(path: Path, error: OSError | ValueError) -> BadInput | CannotWrite:
    if isinstance(error, ValueError) or error.errno in _NAMES_A_BAD_PATH:
        return BadInput(
            say("{path} cannot be a run folder", path=repr(str(path))),
            _words(error),
            say("give the path of a new folder with --out"),
        )
    return _cannot_write(path, error)


def _cannot_write(path: Path, error: OSError) -> CannotWrite:
    return CannotWrite(
        say("cannot write {path}", path=path),
        _words(error),
        say("choose a folder you may write to with --out, then start again"),
    )


def _words(error: OSError | ValueError) -> str:
    return str(getattr(error, "strerror", None) or error)
