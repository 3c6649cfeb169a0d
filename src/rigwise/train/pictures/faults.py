"""What makes DATA unfit for training: each fault one clear error, all its cases at once."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from pathlib import Path

from rigwise.errors import BadInput
from rigwise.records.bad_picture import BadPicture
from rigwise.speech import printable, say
from rigwise.train.pictures.examine import Usable
from rigwise.train.pictures.layout import Layout
from rigwise.train.pictures.tree import look_into
from rigwise.units import percent

NUM_LISTED = 10
"""How many bad pictures an error lists."""


def must_be_mostly_good(root: Path, bad: Sequence[BadPicture], num_usable: int, max_bad_ratio: float) -> None:
    """Stop when more than `max_bad_ratio` (0 to 1) of the picture files are unusable."""
    num_files = len(bad) + num_usable
    if len(bad) <= max_bad_ratio * num_files:
        return
    listed = "\n".join(f"  {entry.path}: {entry.reason}" for entry in bad[:NUM_LISTED])
    raise BadInput(
        say(
            "{bad} of {count} files in {root} are no usable pictures ({share})",
            bad=len(bad),
            count=num_files,
            root=printable(root),
            share=percent(len(bad) / num_files),
        ),
        say(
            "at most {limit} may be; the first {shown}:\n{listed}",
            limit=percent(max_bad_ratio),
            shown=min(len(bad), NUM_LISTED),
            listed=listed,
        ),
        say("replace or remove them, then run the same command again"),
    )


def must_be_classes(root: Path, layout: Layout, classes: Collection[str], pictures: Sequence[Usable]) -> None:
    """Stop when there is one class only, or a class that cannot be both learnt and validated."""
    if len(classes) == 1:
        raise _one_class(root, layout, *classes)
    in_train: dict[str, set[str]] = defaultdict(set)
    anywhere: dict[str, set[str]] = defaultdict(set)
    for picture in pictures:
        anywhere[picture.class_name].add(picture.group)
        if picture.split == "train":
            in_train[picture.class_name].add(picture.group)
    needed_in_train = 1 if "val" in layout.splits else 2
    few = sorted(name for name in classes if len(in_train[name]) < needed_in_train or len(anywhere[name]) < 2)
    if few:
        raise _too_few(root, {name: (len(in_train[name]), len(anywhere[name])) for name in few}, layout)
    for split in layout.splits:
        if not any(picture.split == split for picture in pictures):
            raise _empty_split(root / layout.splits[split], split)


def _one_class(root: Path, layout: Layout, name: str) -> BadInput:
    next_step = say("add pictures of each further class")
    for folder in (folder for folders in layout.classes.values() for folder in folders):
        inside = look_into(root, folder)
        if len(inside.folders + inside.links) > 1:
            next_step = say("if its folders are the classes: rigwise train {folder}", folder=printable(root / folder))
    return BadInput(
        say("only one class in {root}: {name}", root=printable(root), name=name),
        say("a model learns to tell at least two classes apart"),
        next_step,
    )


def _too_few(root: Path, numbers: dict[str, tuple[int, int]], layout: Layout) -> BadInput:
    if "val" in layout.splits:
        why = say("each class needs one different picture in train and one more to validate or test")
        listed = [
            say("{name} ({train} in train, {all} in all)", name=name, train=train, all=total)
            for name, (train, total) in numbers.items()
        ]
    else:
        why = say("each class needs at least two different pictures: one to train, one to validate")
        listed = [say("{name} ({train})", name=name, train=train) for name, (train, _) in numbers.items()]
    return BadInput(
        say("too few pictures in {root}: {listed}", root=printable(root), listed=", ".join(listed)),
        why,
        say("add pictures of these classes, or remove the classes"),
    )


def _empty_split(folder: Path, split: str) -> BadInput:
    return BadInput(
        say("no usable picture in {folder}", folder=printable(folder)),
        say("without pictures nothing can be said about accuracy on {split}", split=split),
        say("add pictures, or remove the folder so that pictures are split off train"),
    )
