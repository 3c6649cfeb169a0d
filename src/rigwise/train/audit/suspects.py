"""What was found, as pictures a person can look at: each with its reason, its thumbnail, and what it is set against."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from rigwise.records.audit import COPY, LABEL, ODD, Shown, Suspect
from rigwise.speech import printable, say
from rigwise.train.audit.duplicates import Pair
from rigwise.train.audit.labels import Judged
from rigwise.train.audit.look import ENOUGH_PIXELS, Look
from rigwise.train.audit.oddities import find_odd
from rigwise.train.pictures.decode import BadPictureError, decode_bytes
from rigwise.train.pictures.picture_bytes import read_picture
from rigwise.train.pictures.thumbnail import thumbnail
from rigwise.units import percent, significant

Groups = Sequence[int]
"""For each picture, the place of the first picture of its group of copies; its own when it has none."""
KEPT_FIRST = ("test", "val", "train")
"""Of copies in several splits the one in train is the suspect: leaving it out changes no measurement of the past."""
NUM_WITH_THUMBNAIL = 100
"""Suspects with a thumbnail, of each kind: nobody looks through a page of more."""


def grouped(num_pictures: int, pairs: Sequence[Pair]) -> list[int]:
    """The group of each picture: copies of copies are copies.

    >>> pair = Pair(first=0, second=2, exact=True, likeness=1.0)
    >>> grouped(4, [pair, Pair(first=2, second=3, exact=False, likeness=0.99)])
    [0, 1, 0, 0]
    """
    group = list(range(num_pictures))

    def first_of(place: int) -> int:
        while group[place] != place:
            place = group[place]
        return place

    for pair in pairs:
        one, other = sorted((first_of(pair.first), first_of(pair.second)))
        group[other] = one
    return [first_of(place) for place in range(num_pictures)]


def copies(root: Path, looks: Sequence[Look], pairs: Sequence[Pair]) -> Iterator[Suspect]:
    """Every picture that is a copy of one that is kept, the surest first."""
    groups = grouped(len(looks), pairs)
    alike: dict[int, float] = {}
    for pair in pairs:
        for place in (pair.first, pair.second):
            alike[place] = max(alike.get(place, 0.0), pair.likeness)
    kept: dict[int, int] = {}
    for place in sorted(alike, key=lambda place: _rank(looks[place])):
        kept.setdefault(groups[place], place)
    repeated = [place for place in sorted(alike, key=lambda place: -alike[place]) if kept[groups[place]] != place]
    for number, place in enumerate(repeated):
        look, other = looks[place], looks[kept[groups[place]]]
        shown = number < NUM_WITH_THUMBNAIL
        yield Suspect(
            **_of(root, COPY, look, shown=shown),
            because="; ".join(_why_a_copy(look, other, alike[place])),
            other=_shown(root, other) if shown else None,
            score=alike[place],
        )


def wrong_labels(root: Path, looks: Sequence[Look], judged: Judged | None) -> Iterator[Suspect]:
    """Every picture whose label the features speak against, the surest first."""
    for number, (place, suggested, probability) in enumerate(judged.suspects if judged else ()):
        look = looks[place]
        yield Suspect(
            **_of(root, LABEL, look, shown=number < NUM_WITH_THUMBNAIL),
            because=say(
                "looks like {suggested} ({probability}), is labelled {label}",
                suggested=suggested,
                probability=percent(probability),
                label=look.class_name,
            ),
            suggested_class=suggested,
            score=probability,
        )


def odd_pictures(root: Path, looks: Sequence[Look]) -> Iterator[Suspect]:
    """Every picture that is unlike the rest in a way that harms, in order."""
    for number, (place, because) in enumerate(find_odd(looks)):
        yield Suspect(**_of(root, ODD, looks[place], shown=number < NUM_WITH_THUMBNAIL), because=because, score=1.0)


def examples(root: Path, looks: Sequence[Look], most: int) -> tuple[Shown, ...]:
    """The first pictures, taking the classes in turn."""
    of_class: dict[str, list[Look]] = {}
    for look in looks:
        of_class.setdefault(look.class_name, []).append(look)
    in_turn = sorted(
        ((place, name) for name, pictures in of_class.items() for place in range(len(pictures))),
    )[:most]
    return tuple(_shown(root, of_class[name][place]) for place, name in in_turn)


def _rank(look: Look) -> tuple[int, int, str]:
    """Which of several copies is kept: the one that measures, then the largest."""
    return KEPT_FIRST.index(look.split), -look.width * look.height, look.path


def _why_a_copy(look: Look, other: Look, likeness: float) -> Iterator[str]:
    name = printable(other.path)
    if look.sha256 == other.sha256:
        yield say("equal to {other}, byte for byte", other=name)
    else:
        yield say(
            "shows the same as {other} (likeness {likeness}): resized, encoded again, cropped or mirrored",
            other=name,
            likeness=significant(likeness),
        )
    if look.split != other.split:
        yield say("that one is in {split}, whose accuracy it flatters", split=other.split)
    if look.class_name != other.class_name:
        yield say("one of the labels {one} and {other} is wrong", one=look.class_name, other=other.class_name)


def _of(root: Path, kind: str, look: Look, *, shown: bool) -> dict[str, Any]:
    """What every suspect has."""
    return {
        "kind": kind,
        "path": printable(look.path),
        "split": look.split,
        "class_name": look.class_name,
        "sha256": look.sha256,
        "thumbnail": _thumbnail(root, look) if shown else "",
    }


def _shown(root: Path, look: Look) -> Shown:
    return Shown(path=printable(look.path), class_name=look.class_name, thumbnail=_thumbnail(root, look))


def _thumbnail(root: Path, look: Look) -> str:
    try:
        content = read_picture(root, look.path, look.inside)
        return thumbnail(Image.fromarray(decode_bytes(content, enough_pixels=ENOUGH_PIXELS)))
    except BadPictureError:  # taken away while the audit ran
        return ""
