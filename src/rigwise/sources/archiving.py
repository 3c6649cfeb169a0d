"""Writes texts as one .tar.gz, or as a folder. Never overwrites, and leaves nothing half-written."""

import gzip
import io
import os
import tarfile
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from rigwise.errors import BadInput, CannotWrite
from rigwise.speech import say


def refuse_existing(place: Path) -> None:
    """Nothing, when something new may be made there.

    Raises:
        BadInput: it exists and is not an empty folder, or the folder around it does not exist.
    """
    try:
        if os.path.lexists(place) and not (place.is_dir() and not any(place.iterdir())):
            raise BadInput(
                say("{path} is already in use", path=place),
                say("a recording is never overwritten"),
                say("give another place: rigwise record OUT"),
            )
        if not place.parent.is_dir():
            raise BadInput(
                say("cannot record to {path}", path=place),
                say("there is no folder {folder}", folder=place.parent),
                say("make it first: mkdir -p {folder}", folder=place.parent),
            )
    except (OSError, ValueError) as failure:
        raise _refused(place, failure) from failure


def archive(texts: Mapping[str, str], folder: str, at: datetime) -> bytes:
    """The texts as a .tar.gz below one folder. It names no user, and no file of this machine."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=at.timestamp()) as compressed,
        tarfile.open(fileobj=compressed, mode="w") as files,
    ):
        for path, text in texts.items():
            content = text.encode("utf-8", "replace")
            entry = tarfile.TarInfo(f"{folder}/{path}")
            entry.size, entry.mtime = len(content), int(at.timestamp())
            files.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def write_archive(place: Path, content: bytes) -> None:
    """Writes the archive whole or not at all.

    Raises:
        CannotWrite: the machine refused.
    """
    unfinished = place.with_name(place.name + ".unfinished")
    try:
        unfinished.write_bytes(content)
        unfinished.replace(place)
    except OSError as failure:
        with suppress(OSError):
            unfinished.unlink()
        raise _refused(place, failure) from failure


def write_folder(folder: Path, texts: Mapping[str, str]) -> None:
    """Writes each text below a folder.

    Raises:
        CannotWrite: the machine refused.
    """
    for path, text in texts.items():
        target = folder / path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text.encode("utf-8", "replace"))
        except OSError as failure:
            raise _refused(target, failure) from failure


def _refused(place: Path, failure: OSError | ValueError) -> CannotWrite:
    words = failure.strerror if isinstance(failure, OSError) else None
    return CannotWrite(
        say("cannot write {path}", path=place),
        words or str(failure),
        say("choose a folder that can be written to"),
    )
