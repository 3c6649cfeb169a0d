"""Which pictures are meant: files, folders and lists of paths; and whose class folder each lies in. Opens none."""

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path, PurePath

import msgspec

from rigwise.errors import BadInput
from rigwise.speech import printable, say
from rigwise.train.pictures.tree import collect

LIST = Path("-")
"""Stands for a list of paths."""


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """One picture to ask about."""

    path: Path
    truth: str = ""
    """The outermost folder, inside the one that was given, that is named as a label."""
    why_not: str = ""
    """Why there is nothing behind the name."""


def listed(places: Sequence[Path], labels: Collection[str], read_list: Callable[[], bytes]) -> tuple[Listed, ...]:
    """Every picture file given, or in or below a folder given, in the order given; folders in the order of names.

    Args:
        places: files, folders, or `LIST` for what `read_list` gives.
        labels: of the model.
        read_list: the content of a list of paths; those may be missing, and are then answered with why.

    Raises:
        BadInput: a place does not exist, a folder cannot be read, or there is no picture in any.
    """
    missing = next((place for place in places if place != LIST and not os.path.lexists(place)), None)
    if missing is not None:
        raise _no_picture(say("no picture {path}", path=missing), say("the path does not exist"))
    found: list[Listed] = []
    for place in places:
        found += map(_one, paths_in(read_list())) if place == LIST else _in(place, labels)
    if not found:
        names = ", ".join(map(printable, places))
        raise _no_picture(say("no pictures in {places}", places=names), say("no file there is named as a picture is"))
    return tuple(found)


def paths_in(text: bytes) -> list[Path]:
    r"""The paths of a list: one a line, or ended by zero bytes as `find -print0` writes them.

    >>> paths_in(b"a 1.png\n\nb.png\n"), paths_in(b"a\n1.png\0")
    ([PosixPath('a 1.png'), PosixPath('b.png')], [PosixPath('a\n1.png')])
    """
    parts = text.split(b"\0") if b"\0" in text else text.splitlines()
    return [Path(os.fsdecode(part)) for part in parts if part]


def _one(path: Path) -> Listed:
    return Listed(path=path)


def _in(place: Path, labels: Collection[str]) -> Iterator[Listed]:
    if not os.path.isdir(place):
        yield _one(place)
        return
    tree = collect(place, "")
    for file in tree.files:
        yield Listed(path=place / file, truth=_class_of(file, labels))
    for bad in (*tree.bad, *tree.loops):
        yield Listed(path=place / bad.path, why_not=bad.reason)


def _class_of(file: str, labels: Collection[str]) -> str:
    return next((name for part in PurePath(file).parts[:-1] if (name := printable(part)) in labels), "")


def _no_picture(what: str, why: str) -> BadInput:
    return BadInput(what, why, say("give files or folders of pictures, or - for a list of paths on standard input"))
