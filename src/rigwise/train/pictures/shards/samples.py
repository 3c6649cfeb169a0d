"""Which pictures lie in shards and what they show, as WebDataset names them.

A sample is every member with the same name up to the first dot behind the last slash: one picture, and a `.cls` (text)
or `.json` that says its class. Pictures are found by their offset, so that they are shuffled freely.
"""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from rigwise.errors import BadInput
from rigwise.records.bad_picture import BadPicture
from rigwise.speech import printable, say
from rigwise.train.pictures.decode import BadPictureError
from rigwise.train.pictures.examine import Candidate, Gathered
from rigwise.train.pictures.picture_bytes import read_inside
from rigwise.train.pictures.picture_set import Inside
from rigwise.train.pictures.shards.tar_index import BadShardError, members
from rigwise.train.pictures.tree import PICTURE_SUFFIXES, suffix

LABELS = ("cls", "json")
"""Members that say the class, the first that is there."""
MAX_LABEL_BYTES = 64 * 1024
MAX_LABEL_CHARACTERS = 200
"""Our choice: a class is a word or two; whatever is longer is no class."""
JSON_KEYS = ("cls", "label", "class", "class_name")
"""Where a .json is looked for the class, in this order."""


def read_samples(root: Path, shards: dict[str, list[str]]) -> Gathered:
    """Every picture with a class in the shards of each split.

    Raises:
        BadInput: they hold no picture with a class.
    """
    samples = Gathered()
    for split, names in shards.items():
        for shard in names:
            _read_shard(root, shard, split, samples)
    samples.classes = {candidate.class_name for candidate in samples.candidates}
    if not samples.classes:
        why = "; ".join(f"{entry.path}: {entry.reason}" for entry in samples.bad[:3])
        raise BadInput(
            say("no picture with a class in the shards of {root}", root=printable(root)),
            why or say("a sample is a picture and its class, such as 0001.jpg and 0001.cls"),
            say("give shards as WebDataset writes them, with a .cls or .json beside each picture"),
        )
    return samples


def _read_shard(root: Path, shard: str, split: str, samples: Gathered) -> None:
    found: dict[str, dict[str, list[Inside]]] = defaultdict(lambda: defaultdict(list))
    try:
        for name, inside in members(root, shard):
            folder, _, file = name.rpartition("/")
            key, _, extension = file.partition(".")
            found[f"{folder}/{key}" if folder else key][extension.lower()].append(inside)
    except BadShardError as error:
        samples.bad.append(BadPicture(path=printable(shard), reason=str(error)))
    for key, parts in found.items():
        _add_sample(root, f"{shard}/{key}", split, parts, samples)


def _add_sample(root: Path, path: str, split: str, parts: dict[str, list[Inside]], samples: Gathered) -> None:
    pictures = [(name, inside) for name, places in parts.items() if _is_picture(name) for inside in places]
    labels = [(name, inside) for name in LABELS for inside in parts.get(name, [])]
    samples.others.update(suffix(f"x.{name}") for name in parts if not _is_picture(name) and name not in LABELS)
    if not pictures:
        return
    try:
        if len(pictures) > 1 or any(len(parts.get(name, [])) > 1 for name in LABELS):
            raise BadPictureError(say("a sample with several pictures or classes"))
        if not labels:
            raise BadPictureError(say("a picture without .cls or .json beside it"))
        [(extension, inside)] = pictures
        class_name = _class_name(root, *labels[0])
    except BadPictureError as error:
        samples.bad.append(BadPicture(path=printable(path), reason=str(error)))
    else:
        place = f"{path}.{extension}"
        samples.candidates.append(Candidate(path=place, class_name=class_name, split=split, inside=inside))


def _is_picture(extension: str) -> bool:
    return f".{extension}" in PICTURE_SUFFIXES


def _class_name(root: Path, extension: str, inside: Inside) -> str:
    """The class a `.cls` or `.json` names; a slash in it becomes `_`, as class names are folder names elsewhere."""
    if inside.num_bytes > MAX_LABEL_BYTES:
        raise BadPictureError(say("a class of {size} bytes", size=inside.num_bytes))
    text = read_inside(root, inside).decode("utf-8", "replace")
    named = _named_in_json(text) if extension == "json" else text.strip()
    if not named or len(named) > MAX_LABEL_CHARACTERS or named in (".", ".."):
        raise BadPictureError(say("its .{extension} names no class", extension=extension))
    return printable(named).replace("/", "_")


def _named_in_json(text: str) -> str:
    try:
        content: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadPictureError(say("its .json is damaged")) from error
    told = next((content[key] for key in JSON_KEYS if key in content), "") if isinstance(content, dict) else content
    return str(told).strip() if isinstance(told, str | int) and not isinstance(told, bool) else ""
