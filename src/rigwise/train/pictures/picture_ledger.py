"""pictures.tsv of a run folder: which picture was in which split, with its hash; columns: split, class, sha256 of the
file's bytes, path.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from rigwise.speech import printable, say
from rigwise.train.pictures.picture_set import PictureSet
from rigwise.train.sample_ledger import SPLITS, as_recorded, ledger_text, plain, quoted, read_ledger

FILE_NAME = "pictures.tsv"
COLUMNS = ("split", "class", "sha256", "path")


class Recorded(msgspec.Struct, frozen=True):
    """Where one picture was, and what it was."""

    split: str
    class_name: str
    sha256: str


class PictureLedger(msgspec.Struct, frozen=True):
    """What a run recorded of its pictures."""

    root: Path
    pictures: dict[str, Recorded]
    """By path, relative to the root."""


def picture_lines(pictures: PictureSet) -> str:
    """The text of pictures.tsv."""
    rows = (
        (split, quoted(pictures.classes[picture.label]), picture.sha256, quoted(picture.path))
        for split in SPLITS
        for picture in getattr(pictures, split)
    )
    return ledger_text(pictures.root, COLUMNS, rows)


def read_picture_lines(path: Path) -> PictureLedger:
    """What an earlier run recorded of its pictures.

    Raises:
        BadInput: the file is missing or damaged.
    """
    return PictureLedger(*read_ledger(path, _row))


def _row(cells: Sequence[str]) -> tuple[str, Recorded]:
    split, class_name, sha256, path = cells
    return plain(path), Recorded(split, plain(class_name), sha256)


def changes(pictures: PictureSet, recorded: dict[str, Recorded]) -> tuple[str, ...]:
    """One line per picture that is not what it was: changed, missing or new; by name."""
    return tuple(sorted(_changes(pictures, recorded)))


def _changes(pictures: PictureSet, recorded: dict[str, Recorded]) -> Iterator[str]:
    now = {picture.path: picture for split in SPLITS for picture in getattr(pictures, split)}
    for path, before in recorded.items():
        picture = now.get(path)
        if picture is None:
            yield say("{path}: missing or unreadable now", path=printable(path))
        elif picture.sha256 != before.sha256:
            yield say("{path}: its bytes changed", path=printable(path))
        elif pictures.classes[picture.label] != before.class_name:
            yield say("{path}: another class", path=printable(path))
    for path in now.keys() - recorded.keys():
        yield say("{path}: new", path=printable(path))


def same_split(pictures: PictureSet, recorded: dict[str, Recorded]) -> PictureSet:
    """The pictures in the splits they had; a new picture stays where the rule puts it."""
    splits = {split: getattr(pictures, split) for split in SPLITS}
    return msgspec.structs.replace(pictures, **as_recorded(splits, lambda picture: picture.path, recorded))
