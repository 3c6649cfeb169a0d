"""The pictures of a run: which files, which class, which split."""

from pathlib import Path

import msgspec

from rigwise.records.run import PictureSummary


class Inside(msgspec.Struct, frozen=True, kw_only=True):
    """Where the bytes of a picture lie in a shard."""

    shard: str
    """Relative to the root."""
    offset: int
    num_bytes: int


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """One usable picture."""

    path: str
    """Relative to the root, as the file system names it (surrogateescape for odd encodings)."""
    label: int
    """Index into `PictureSet.classes`."""
    sha256: str
    """Of the file's bytes; a repeat notices a change by it."""
    inside: Inside | None = None
    """For a picture in a shard; `path` then only names it."""


class PictureSet(msgspec.Struct, frozen=True, kw_only=True):
    """All usable pictures of DATA, split; `summary` is what people and reports read."""

    root: Path
    classes: tuple[str, ...]
    train: tuple[Picture, ...]
    val: tuple[Picture, ...]
    test: tuple[Picture, ...]
    summary: PictureSummary
