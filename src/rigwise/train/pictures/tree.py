"""Which files lie in a folder of pictures: links followed without looping, nothing opened.

A picture file is one with a picture's suffix, or with none at all. Must not decode, and must not know of splits.
"""

import os
import stat
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path

import msgspec

from rigwise.errors import BadInput
from rigwise.records.bad_picture import BadPicture
from rigwise.speech import printable, say

PICTURE_SUFFIXES = frozenset(
    {
        *(".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".apng", ".webp", ".gif", ".bmp", ".dib", ".tif", ".tiff"),
        *(".avif", ".ppm", ".pgm", ".pbm", ".pnm", ".tga", ".ico", ".jp2", ".j2k", ".qoi", ".heic", ".heif"),
    }
)
"""A file with one of these is a picture, or listed as a bad one. HEIC is here to be listed: Pillow cannot read it."""

LITTER = frozenset({"thumbs.db", "desktop.ini", "__macosx"})

Identity = tuple[int, int]
"""Device and inode: what a folder is, by whatever name it is reached."""


class Found(msgspec.Struct, kw_only=True):
    """What lies directly in one folder, or anywhere below it; paths are relative to DATA."""

    folders: list[str] = []
    links: list[str] = []
    """Folders reached through a symbolic link."""
    files: list[str] = []
    archives: list[str] = []
    """Tar files; among pictures, files like any other."""
    bad: list[BadPicture] = []
    """Names behind which there is nothing."""
    loops: list[BadPicture] = []
    others: Counter[str] = msgspec.field(default_factory=Counter)
    """Files that are no pictures, by suffix."""


def look_into(root: Path, folder: str) -> Found:
    """What lies directly in `folder`.

    Raises:
        BadInput: the folder cannot be read.
    """
    found = Found()
    for name in _names(root / folder):
        path = f"{folder}/{name}" if folder else name
        try:
            mode = os.stat(root / path).st_mode
        except OSError as error:
            broken = (root / path).is_symlink()
            reason = say("a symbolic link that leads nowhere") if broken else error.strerror or str(error)
            found.bad.append(BadPicture(path=printable(path), reason=reason))
            continue
        if stat.S_ISDIR(mode):
            (found.links if (root / path).is_symlink() else found.folders).append(path)
        elif is_picture_name(name):
            found.files.append(path)
        else:
            found.others[suffix(name)] += 1
            found.archives += [path] if suffix(name) == ".tar" else []
    return found


def collect(root: Path, folder: str) -> Found:
    """Every file below `folder`, each folder read once however many links lead to it."""
    total = Found()
    read = ancestors(root / folder)
    pending = deque([folder])
    while pending:
        current = pending.popleft()
        if (itself := identity(root / current)) in read:
            total.loops.append(loop(current))
            continue
        read.add(itself)
        found = look_into(root, current)
        pending.extendleft(found.folders)
        pending.extend(found.links)  # last: a folder is read under its own name rather than a link's
        total.files += found.files
        total.bad += found.bad
        total.others += found.others
    total.files.sort()
    return total


def identity(folder: Path) -> Identity:
    """Device and inode of a folder."""
    status = os.stat(folder)
    return status.st_dev, status.st_ino


def ancestors(folder: Path) -> set[Identity]:
    """All folders above `folder`, by its name and where it really lies; a link to one of them would loop."""
    return {identity(parent) for parent in {*folder.absolute().parents, *folder.resolve().parents}}


def loop(path: str) -> BadPicture:
    """The entry for a link back to a folder that holds it, or that was read already."""
    return BadPicture(path=printable(path), reason=say("a link to a folder that is read already; not followed"))


def is_picture_name(name: str) -> bool:
    """Whether a file of this name should be a picture."""
    return suffix(name) in PICTURE_SUFFIXES or not suffix(name)


def suffix(name: str) -> str:
    """Suffix in lower case, with its dot; "" for none."""
    return os.path.splitext(name)[1].lower()


def _names(folder: Path) -> Iterator[str]:
    """Sorted names in a folder, without hidden files and what operating systems leave behind."""
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise BadInput(
            say("cannot read the folder {folder}", folder=printable(folder)),
            say("{error}", error=error.strerror),
            say("make it readable: chmod -R u+rX {folder}", folder=printable(folder)),
        ) from error
    return (name for name in names if not name.startswith(".") and name.lower() not in LITTER)
