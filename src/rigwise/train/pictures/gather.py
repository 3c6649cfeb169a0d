"""Every picture that DATA holds, in class folders or in shards, and which of them a person has left out."""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from rigwise.records.review import WRONG, Review
from rigwise.speech import printable
from rigwise.train.pictures.decode import BadPictureError
from rigwise.train.pictures.examine import Candidate, Gathered
from rigwise.train.pictures.layout import Layout, class_name
from rigwise.train.pictures.picture_bytes import read_picture
from rigwise.train.pictures.shards.samples import read_samples
from rigwise.train.pictures.tree import collect


def gather(root: Path, layout: Layout) -> Gathered:
    """Everything that should be a picture, and what its class and split are; decodes nothing.

    Raises:
        BadInput: a folder cannot be read, or the shards hold no picture with a class.
    """
    return read_samples(root, layout.shards) if layout.shards else _in_folders(root, layout)


def _in_folders(root: Path, layout: Layout) -> Gathered:
    """Every file that should be a picture, of the class its folder names."""
    gathered = Gathered()
    for split, folder in ((split, folder) for split, folders in layout.classes.items() for folder in folders):
        found, name = collect(root, folder), class_name(folder)
        gathered.classes.add(name)
        gathered.candidates += [Candidate(path=path, class_name=name, split=split) for path in found.files]
        gathered.bad += found.bad
        gathered.loops += found.loops
        gathered.others += found.others
    return gathered


def parted(root: Path, candidates: Sequence[Candidate], review: Review) -> tuple[list[Candidate], list[Candidate]]:
    """The candidates to use, and those left out because a person said that they are wrong."""
    wrong = {each.path: each.sha256 for each in review.answers if each.answer == WRONG}
    used: list[Candidate] = []
    left_out: list[Candidate] = []
    for candidate in candidates:
        expected = wrong.get(printable(candidate.path))
        (used if expected is None or not _is_still(root, candidate, expected) else left_out).append(candidate)
    return used, left_out


def _is_still(root: Path, candidate: Candidate, expected: str) -> bool:
    """Whether its bytes are those that were looked at, as far as that can be told."""
    if not expected:
        return True
    try:
        return sha256(read_picture(root, candidate.path, candidate.inside)).hexdigest() == expected
    except BadPictureError:
        return True
