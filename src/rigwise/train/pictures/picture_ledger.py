"""pictures.tsv of a run folder: which picture was in which split, with its hash, so that a repeat notices a change.

The first line names DATA; then split, class, sha256 of the file's bytes, path. Names are percent-encoded bytes, so
that any file name survives.
"""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote_from_bytes, unquote_to_bytes

import msgspec

from rigwise.errors import BadInput
from rigwise.speech import printable, say
from rigwise.train.pictures.picture_set import SPLITS, Picture, PictureSet

FILE_NAME = "pictures.tsv"
_HEADER = "# split\tclass\tsha256\tpath"
_ROOT = "# root\t"


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
    lines = [_ROOT + quoted(home_relative(pictures.root)), _HEADER]
    for split in SPLITS:
        for picture in getattr(pictures, split):
            cells = (split, quoted(pictures.classes[picture.label]), picture.sha256, quoted(picture.path))
            lines.append("\t".join(cells))
    return "\n".join(lines) + "\n"


def read_picture_lines(path: Path) -> PictureLedger:
    """What an earlier run recorded of its pictures.

    Raises:
        BadInput: the file is missing or damaged.
    """
    try:
        root, _, *rows = path.read_text("utf-8").splitlines()
        return PictureLedger(Path(plain(root.removeprefix(_ROOT))).expanduser(), dict(_row(row) for row in rows))
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: `~`, and there is no home folder
        raise BadInput(
            say("cannot repeat from {folder}", folder=path.parent),
            say("{name} is missing or damaged: {error}", name=path.name, error=error),
            say("give a run folder that `rigwise train` made, or start anew: rigwise train DATA"),
        ) from error


def _row(line: str) -> tuple[str, Recorded]:
    split, class_name, sha256, path = line.split("\t")
    if split not in SPLITS:
        raise ValueError(say("{split} is no split", split=repr(split)))
    return plain(path), Recorded(split, plain(class_name), sha256)


def home_relative(path: Path) -> str:
    """An absolute path with the home folder written as `~`: no user name, still usable."""
    absolute = path.absolute()
    try:
        return f"~/{absolute.relative_to(Path.home())}"
    except (ValueError, RuntimeError):  # it lies elsewhere; this user has no home folder
        return str(absolute)


def quoted(name: str) -> str:
    """A name as percent-encoded bytes."""
    return quote_from_bytes(name.encode("utf-8", "surrogateescape"), safe="/ ~")


def plain(name: str) -> str:
    """What `quoted` was given."""
    return unquote_to_bytes(name).decode("utf-8", "surrogateescape")


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
    placed: dict[str, list[Picture]] = {split: [] for split in SPLITS}
    order = {path: place for place, path in enumerate(recorded)}
    for split in SPLITS:
        for picture in getattr(pictures, split):
            before = recorded.get(picture.path)
            placed[before.split if before else split].append(picture)
    for split in SPLITS:
        placed[split].sort(key=lambda picture: order.get(picture.path, len(order)))
    return msgspec.structs.replace(pictures, **{split: tuple(placed[split]) for split in SPLITS})
