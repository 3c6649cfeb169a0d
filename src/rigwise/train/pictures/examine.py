"""Every picture decoded once, before training: what is unusable is known, and copies are recognised by their pixels."""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from hashlib import sha256
from pathlib import Path

import msgspec

from rigwise.records.bad_picture import BadPicture
from rigwise.speech import printable
from rigwise.train.machine import usable_cores
from rigwise.train.pictures.decode import BadPictureError, Pixels, decode_bytes
from rigwise.train.pictures.ordered import in_order
from rigwise.train.pictures.picture_bytes import read_picture
from rigwise.train.pictures.picture_set import Inside
from rigwise.train.pictures.tree import suffix

Progress = Callable[[int, int], None]
"""Called with the number of files done and of all."""


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A file that should be a picture."""

    path: str
    class_name: str
    split: str
    """Where its folder puts it."""
    inside: Inside | None = None
    """Where its bytes lie, if in a shard."""


class Gathered(msgspec.Struct, kw_only=True):
    """What DATA holds, before anything is decoded."""

    classes: set[str] = set()
    """Every class that is named, also one without a usable picture."""
    candidates: list[Candidate] = []
    bad: list[BadPicture] = []
    loops: list[BadPicture] = []
    others: Counter[str] = msgspec.field(default_factory=Counter)
    """What is no picture, by suffix."""


class Usable(Candidate, frozen=True, kw_only=True):
    """A file that is one."""

    sha256: str
    """Of the bytes."""
    group: str
    """SHA-256 of the decoded pixels and their shape: equal for copies, whatever their format or name."""


class Examined(msgspec.Struct, kw_only=True):
    """What became of the candidates, in their order."""

    usable: list[Usable] = []
    bad: list[BadPicture] = []
    others: Counter[str] = msgspec.field(default_factory=Counter)
    """Files without a suffix that turned out to be no pictures."""


def examine(root: Path, candidates: Sequence[Candidate], progress: Progress | None = None) -> Examined:
    """Decode every candidate in threads; holds no more than one picture for each thread."""
    examined = Examined()
    threads = usable_cores()
    work = partial(_examine_one, root)
    with closing(in_order(work, candidates, num_threads=threads, ahead=16 * threads)) as outcomes:
        for done, (candidate, outcome) in enumerate(zip(candidates, outcomes, strict=True), start=1):
            if isinstance(outcome, Usable):
                examined.usable.append(outcome)
            elif suffix(candidate.path):
                examined.bad.append(outcome)
            else:
                examined.others[""] += 1
            if progress:
                progress(done, len(candidates))
    return examined


def group_of(pixels: Pixels) -> str:
    """What pictures with the same pixels share."""
    digest = sha256(f"{pixels.shape}".encode())
    digest.update(pixels.data)
    return digest.hexdigest()


def _examine_one(root: Path, candidate: Candidate) -> Usable | BadPicture:
    try:
        content = read_picture(root, candidate.path, candidate.inside)
        group = group_of(decode_bytes(content))
    except BadPictureError as error:
        return BadPicture(path=printable(candidate.path), reason=str(error))
    return Usable(**msgspec.structs.asdict(candidate), sha256=sha256(content).hexdigest(), group=group)
