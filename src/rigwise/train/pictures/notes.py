"""What to know about the pictures before trusting an accuracy, in words. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from rigwise.speech import printable, say
from rigwise.train.pictures.examine import Usable
from rigwise.units import significant

IMBALANCE_RATIO = 3
"""Largest class to smallest. With two classes at 3 : 1, never answering the smaller one already scores 75 %."""

NUM_NAMED = 5
"""How many cases a note names; the rest is a count."""

Counts = Mapping[str, Mapping[str, int]]
"""Split to class to number of pictures."""


def notes_on(pictures: Iterable[Usable], counts: Counts) -> list[str]:
    """Every note on the pictures as they are split in the end, most harmful first."""
    groups: dict[str, list[Usable]] = defaultdict(list)
    for picture in pictures:
        groups[picture.group].append(picture)
    copies = [group for group in groups.values() if len(group) > 1]
    return [*_leaks(copies), *_two_classes(copies), *_copies(copies), *missing(counts), *imbalance(counts)]


def _leaks(copies: Iterable[Sequence[Usable]]) -> list[str]:
    """Pictures of train that are also in val or test: the model is asked what it was told."""
    notes = []
    for split in ("val", "test"):
        leaked = [group for group in copies if {"train", split} <= {picture.split for picture in group}]
        if leaked:
            count = sum(picture.split == split for group in leaked for picture in group)
            notes.append(
                say(
                    "pictures of {split} that are also in train, which flatters its accuracy: {count} ({names})",
                    count=count,
                    split=split,
                    names=_named(leaked),
                )
            )
    return notes


def _two_classes(copies: Iterable[Sequence[Usable]]) -> list[str]:
    """The same picture under two classes: one of the labels is wrong."""
    torn = [group for group in copies if len({picture.class_name for picture in group}) > 1]
    if not torn:
        return []
    return [say("pictures that are in two classes: {count} ({names})", count=len(torn), names=_named(torn))]


def _copies(copies: Sequence[Sequence[Usable]]) -> list[str]:
    """Pictures that add nothing."""
    if not copies:
        return []
    return [say("copies of another picture: {count}", count=sum(len(group) - 1 for group in copies))]


def missing(counts: Counts) -> list[str]:
    """Classes of which val or test holds nothing."""
    notes = []
    for split in ("val", "test"):
        missing = [name for name, count in counts[split].items() if count == 0]
        if missing and len(missing) < len(counts[split]):
            names = ", ".join(missing)
            notes.append(
                say("{split} has no picture of {names}: its accuracy leaves them out", split=split, names=names)
            )
    return notes


def imbalance(counts: Counts) -> list[str]:
    """Classes of train so unequal that the largest alone decides the accuracy."""
    largest, *_, smallest = Counter(counts["train"]).most_common()
    if largest[1] < IMBALANCE_RATIO * smallest[1]:
        return []
    return [
        say(
            "unequal classes in train: {largest} has {most} pictures, {smallest} {fewest}, a ratio of {ratio}",
            largest=largest[0],
            most=largest[1],
            smallest=smallest[0],
            fewest=smallest[1],
            ratio=significant(largest[1] / smallest[1], 2),
        )
    ]


def _named(groups: Sequence[Sequence[Usable]]) -> str:
    """`shoes/a.jpg = bags/b.jpg; ...`, the first few."""
    shown = [" = ".join(printable(picture.path) for picture in group) for group in groups[:NUM_NAMED]]
    return "; ".join([*shown, "..."] if len(groups) > NUM_NAMED else shown)
