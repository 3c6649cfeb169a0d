"""A recording that came in an archive: its evidence at the top, in evidence/, or in one folder down."""

import shutil
import tempfile
import weakref
from collections.abc import Iterable
from pathlib import Path

from rigwise.sources import layout
from rigwise.sources.recorded import RecordedSource
from rigwise.sources.unpacking import Part

_TABLES = (layout.NVML, layout.COMMAND_INDEX, layout.FILE_INDEX)
_MAX_DEPTH = 2


def evidence_root(parts: Iterable[Part]) -> str | None:
    """Where the tables of a recording lie in an archive: "", `evidence/`, `NAME/evidence/`; None if nowhere."""
    for path in (part.name.removeprefix("./") for part in parts):
        for table in _TABLES:
            root = path.removesuffix(table)
            if root != path and f"/{root}".endswith("/") and root.count("/") <= _MAX_DEPTH:
                return root
    return None


def recorded_in(parts: Iterable[Part], root: str, name: str) -> RecordedSource:
    """The recording, in a temporary folder that is removed with it.

    Raises:
        ValueError: its tables are damaged.
    """
    folder = Path(tempfile.mkdtemp(prefix="rigwise-"))
    try:
        for part in parts:
            path = part.name.removeprefix("./")
            if path.startswith(root):
                _write(folder, path.removeprefix(root), part.content)
        source = RecordedSource(folder, name)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(source, shutil.rmtree, folder, ignore_errors=True)
    return source


def _write(folder: Path, path: str, content: bytes) -> None:
    """One file below the folder. `unpacking` leaves no name that leads out of it."""
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
