"""A folder that appears whole or not at all, and survives a power cut once it has appeared."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from rigwise.errors import CannotWrite
from rigwise.speech import say


def write_folder(path: Path, files: Mapping[str, bytes], next_step: str) -> None:
    """Make the folder with these files: name -> content.

    Raises:
        CannotWrite: read-only, not permitted, no space, or there already; nothing is left then.
    """
    unfinished = path.with_name(path.name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)  # what a killed attempt left
    try:
        unfinished.mkdir()
        for name, content in files.items():
            _write_through(unfinished / name, content)
        _settle(unfinished)
        unfinished.rename(path)
        _settle(path.parent)
    except OSError as error:
        raise CannotWrite(say("cannot write {path}", path=path), error.strerror or str(error), next_step) from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _write_through(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _settle(folder: Path) -> None:
    """The names in a folder reach the disk."""
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(place)
    finally:
        os.close(place)
