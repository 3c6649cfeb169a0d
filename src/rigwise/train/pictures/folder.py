"""DATA to a `PictureSet`: which files are pictures, what they show, and which of them train, validate or test."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from rigwise.records.bad_picture import BadPicture
from rigwise.records.review import NO_ANSWERS, Review
from rigwise.records.run import PictureSummary
from rigwise.speech import printable, say
from rigwise.train.pictures.examine import Progress, Usable, examine
from rigwise.train.pictures.faults import must_be_classes, must_be_mostly_good
from rigwise.train.pictures.gather import gather, parted
from rigwise.train.pictures.layout import Layout, find_layout
from rigwise.train.pictures.notes import notes_on
from rigwise.train.pictures.picture_set import Picture, PictureSet
from rigwise.train.pictures.split import split_groups
from rigwise.train.sample_ledger import SPLITS
from rigwise.units import percent


def read_pictures(
    root: Path,
    *,
    seed: int,
    val_ratio: float = 0.15,
    test_ratio: float = 0.15,
    max_bad_ratio: float = 0.05,
    review: Review = NO_ANSWERS,
    progress: Progress | None = None,
) -> PictureSet:
    """All usable pictures of DATA, split; every file is decoded once to know that it can be.

    Args:
        root: DATA: split folders (train, val, test) that hold classes, or one folder of classes.
        seed: decides the split where DATA has none.
        val_ratio: share of each class's distinct pictures for validation, where DATA has no val folder.
        test_ratio: share kept for the test, where DATA has neither val nor test folder.
        max_bad_ratio: largest share of unusable files to go on with, 0 to 1.
        review: what a person answered; pictures said to be wrong are not used.
        progress: called with the number of files examined and of all.

    Raises:
        BadInput: DATA cannot be trained on.
    """
    layout = find_layout(root)
    found = gather(root, layout)
    candidates, left_out = parted(root, found.candidates, review)
    examined = examine(root, candidates, progress)
    bad = [*examined.bad, *found.bad]
    must_be_mostly_good(root, bad, len(examined.usable), max_bad_ratio)
    must_be_classes(root, layout, found.classes, examined.usable)
    pictures, rule = _split(examined.usable, layout, seed, val_ratio, 0.0 if "test" in layout.splits else test_ratio)
    others = found.others + examined.others
    notes = layout.notes + ([_note_on(others)] if others else [])
    if left_out:
        notes.append(say("pictures left out, as a person said: {count}", count=len(left_out)))
    return _picture_set(root, pictures, rule, [*layout.bad, *bad, *found.loops], notes)


def _split(
    pictures: Sequence[Usable], layout: Layout, seed: int, val_ratio: float, test_ratio: float
) -> tuple[list[Usable], str]:
    """The pictures with the split each belongs to, and the rule in words."""
    if "val" in layout.splits:
        return list(pictures), say("as the folders of DATA say")
    groups: dict[str, set[str]] = defaultdict(set)
    for picture in pictures:
        if picture.split == "train":
            groups[picture.class_name].add(picture.group)
    placed = split_groups(groups, seed=seed, val_ratio=val_ratio, test_ratio=test_ratio)
    moved = [
        msgspec.structs.replace(picture, split=placed[picture.group]) if picture.split == "train" else picture
        for picture in pictures
    ]
    return moved, _rule(layout, seed, val_ratio, test_ratio)


def _rule(layout: Layout, seed: int, val_ratio: float, test_ratio: float) -> str:
    rule = say(
        "copies grouped by decoded pixels; groups of each class in order of SHA-256 of seed {seed} and pixels; "
        "the first {val} (at least one) validate, the next {test} test, the rest train",
        seed=seed,
        val=percent(val_ratio),
        test=percent(test_ratio),
    )
    if "test" in layout.splits:
        return say("test as its folder says; DATA has no val folder, so train was split: {rule}", rule=rule)
    return rule


def _picture_set(
    root: Path, pictures: Sequence[Usable], rule: str, bad: Iterable[BadPicture], notes: list[str]
) -> PictureSet:
    classes = tuple(sorted({picture.class_name for picture in pictures}, key=_in_order))
    numbers = Counter((picture.split, picture.class_name) for picture in pictures)
    counts = {split: {name: numbers[split, name] for name in classes} for split in SPLITS}
    label = {name: index for index, name in enumerate(classes)}
    of_split: dict[str, list[Picture]] = {split: [] for split in SPLITS}
    for picture in sorted(pictures, key=lambda picture: picture.path):
        of_split[picture.split].append(
            Picture(path=picture.path, label=label[picture.class_name], sha256=picture.sha256, inside=picture.inside)
        )
    summary = PictureSummary(
        root=printable(root),
        classes=classes,
        counts=counts,
        split_rule=rule,
        bad=tuple(sorted(bad, key=lambda entry: entry.path)),
        notes=(*notes_on(pictures, counts), *notes),
    )
    return PictureSet(
        root=root,
        classes=classes,
        train=tuple(of_split["train"]),
        val=tuple(of_split["val"]),
        test=tuple(of_split["test"]),
        summary=summary,
    )


def _in_order(name: str) -> tuple[bool, int, str]:
    """Numbers by value before words, so that classes 0 to 10 of shards keep their numbers."""
    is_number = name.isascii() and name.isdigit() and len(name) < 10
    return not is_number, int(name) if is_number else 0, name


def _note_on(others: Counter[str]) -> str:
    suffixes = ", ".join(printable(suffix) or say("no suffix") for suffix in sorted(others))
    return say("other files ignored: {count} ({suffixes})", count=others.total(), suffixes=suffixes)
