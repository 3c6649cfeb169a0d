"""The form of DATA: split folders that hold classes, or one folder of classes.

Both are the same thing here: a folder for each split, and one folder of classes is a train folder from which val and
test have yet to be split. Instead of class folders there may be WebDataset shards: the `.tar` files of DATA, whose
names may begin with a split (`val-000001.tar`), or those of its split folders. Opens no picture.
"""

import re
from pathlib import Path

import msgspec

from rigwise.errors import BadInput
from rigwise.records.bad_picture import BadPicture
from rigwise.speech import printable, say
from rigwise.train.pictures.tree import ancestors, identity, look_into, loop
from rigwise.train.sample_ledger import SPLITS

SPLIT_OF_FOLDER = {"train": "train", "val": "val", "valid": "val", "validation": "val", "test": "test"}
"""Names of split folders, in any mixture of upper and lower case."""


class Layout(msgspec.Struct, kw_only=True):
    """Where the classes of each split lie, and what was seen on the way."""

    splits: dict[str, str] = {}
    """Split to its folder, relative to DATA; {"train": ""} for one folder of classes."""
    classes: dict[str, list[str]] = {}
    """Split to its class folders, relative to DATA."""
    shards: dict[str, list[str]] = {}
    """Split to its WebDataset shards, relative to DATA, where it consists of those."""
    bad: list[BadPicture] = []
    notes: list[str] = []


def find_layout(root: Path) -> Layout:
    """The form of DATA.

    Raises:
        BadInput: DATA is missing, no folder, empty, or has no class folders.
    """
    _must_be_folder(root)
    layout = Layout()
    folders = _folders(root, "", layout)
    if shards := _shards(root, folders):
        return Layout(splits=dict.fromkeys(shards, ""), shards=shards)
    if not folders:
        raise _no_classes(root)
    layout.splits = _split_folders(root, folders)
    if layout.splits == {"train": ""}:
        layout.classes["train"] = folders
        return layout
    others = sorted(set(folders) - set(layout.splits.values()))
    if others:
        layout.notes.append(say("folders beside the splits, not used: {names}", names=_joined(others)))
    for split, folder in list(layout.splits.items()):
        layout.classes[split] = _folders(root, folder, layout)
        if layout.classes[split]:
            continue
        if split == "train":
            raise _no_classes(root / folder)
        layout.notes.append(say("{folder} holds no class folders, not used", folder=printable(folder)))
        del layout.splits[split], layout.classes[split]
    return layout


def _shards(root: Path, folders: list[str]) -> dict[str, list[str]]:
    """Split to its shards, where DATA or its split folders hold nothing but those."""
    named = {folder: SPLIT_OF_FOLDER.get(folder.lower(), "") for folder in folders}
    shards: dict[str, list[str]] = {}
    for shard in _tars(root, ""):
        shards.setdefault(split_of_shard(shard), []).append(shard)
    if not all(split and _tars(root, folder) for folder, split in named.items()):
        return {}
    for folder, split in named.items():
        shards.setdefault(split, []).extend(_tars(root, folder))
    return {split: shards[split] for split in SPLITS if split in shards} if "train" in shards else {}


def _tars(root: Path, folder: str) -> list[str]:
    return look_into(root, folder).archives


def split_of_shard(shard: str) -> str:
    """The split a shard's name begins with, else train.

    >>> split_of_shard("val-000001.tar"), split_of_shard("shard-0.tar")
    ('val', 'train')
    """
    return SPLIT_OF_FOLDER.get(re.split(r"[-_.0-9]", shard.lower(), maxsplit=1)[0], "train")


def class_name(folder: str) -> str:
    """What a class folder is called, printable."""
    return printable(Path(folder).name)


def _split_folders(root: Path, folders: list[str]) -> dict[str, str]:
    """Split to its folder; {"train": ""} unless the names say that DATA is split already."""
    named = [(SPLIT_OF_FOLDER[folder.lower()], folder) for folder in folders if folder.lower() in SPLIT_OF_FOLDER]
    splits = dict(named)
    if len(splits) < len(named):
        raise BadInput(
            say("two folders for the same split in {root}", root=printable(root)),
            say("found {names}", names=_joined([folder for _, folder in named])),
            say("keep one of train, one of val, valid or validation, and one of test"),
        )
    if len(named) == len(folders) and "train" not in splits:
        raise BadInput(
            say("no train folder in {root}", root=printable(root)),
            say("found only {names}", names=_joined(folders)),
            say("add a folder named train with the same class folders"),
        )
    # A class may be called train: with unrelated folders beside it and no other split, it is one.
    is_split = "train" in splits and (len(splits) > 1 or len(folders) == 1)
    return splits if is_split else {"train": ""}


def _folders(root: Path, folder: str, layout: Layout) -> list[str]:
    """The folders in `folder`, sorted; loops, broken links and pictures of no class go into `layout`."""
    found = look_into(root, folder)
    layout.bad += found.bad
    layout.bad += [loop(link) for link in found.links if _loops(root / link)]
    folders = sorted(found.folders + [link for link in found.links if not _loops(root / link)])
    if found.files and folders:
        layout.notes.append(
            say(
                "pictures in {folder} itself, of no class, not used: {count}",
                count=len(found.files),
                folder=printable(root / folder),
            )
        )
    return folders


def _loops(link: Path) -> bool:
    return identity(link) in ancestors(link)


def _must_be_folder(root: Path) -> None:
    try:
        is_there = root.exists()
    except OSError as error:  # a name that is too long, a folder above that may not be entered
        raise BadInput(
            say("cannot reach {root}", root=root),
            error.strerror or str(error),
            say("give a folder with one folder of pictures for each class"),
        ) from error
    if not is_there:
        raise BadInput(
            say("no folder {root}", root=printable(root)),
            say("the path does not exist"),
            say("give a folder with one folder of pictures for each class"),
        )
    if not root.is_dir():
        raise BadInput(
            say("{root} is not a folder", root=printable(root)),
            say("rigwise trains on a folder with one folder of pictures for each class"),
            say("unpack it if it is an archive, then give the folder"),
        )


def _no_classes(folder: Path) -> BadInput:
    num_files = len(look_into(folder, "").files)
    if num_files:
        why = say("pictures in the folder itself: {count}; nothing says what they show", count=num_files)
    elif any(folder.iterdir()):
        why = say("it holds neither class folders nor pictures")
    else:
        why = say("it is empty")
    return BadInput(
        say("no class folders in {folder}", folder=printable(folder)),
        why,
        say("make one folder for each class in {folder} and move its pictures into it", folder=printable(folder)),
    )


def _joined(names: list[str]) -> str:
    return ", ".join(printable(name) for name in names)
