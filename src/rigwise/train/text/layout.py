"""Whether DATA is texts or pictures, and which files are texts of which split. Opens no file with a known suffix.

Pictures win where both may be meant: captions and read-me files lie beside pictures more often than the reverse.
"""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

from rigwise.errors import BadInput
from rigwise.records.bad_picture import BadPicture
from rigwise.speech import printable, say
from rigwise.train.pictures.layout import SPLIT_OF_FOLDER
from rigwise.train.pictures.tree import PICTURE_SUFFIXES, ancestors, identity, loop, suffix

TEXT_SUFFIXES = frozenset(
    {
        *(".txt", ".text", ".md", ".markdown", ".rst", ".org", ".adoc", ".tex"),
        *(
            ".py",
            ".pyi",
            ".js",
            ".jsx",
            ".ts",
            ".tsx",
            ".c",
            ".h",
            ".cc",
            ".cpp",
            ".hpp",
            ".cu",
            ".cuh",
            ".java",
            ".go",
        ),
        *(".rs", ".rb", ".sh", ".sql", ".lua", ".r", ".jl", ".kt", ".swift", ".scala", ".hs", ".ml", ".pl", ".php"),
    }
)
"""One document a file. Not .csv, .json or .xml: beside pictures these are labels."""
RECORD_SUFFIXES = frozenset({".jsonl", ".ndjson"})
"""One document a line."""

CAPTIONS_PER_PICTURE = 2
"""Pictures with at most so many text files each are pictures with captions."""
TEXTS_PER_PICTURE = 10
"""Texts with at most one picture to so many are illustrated texts. Our choice, both: in between nobody can say."""
SNIFFED_BYTES = 1024
"""Of a file without a suffix: binary ones may be pictures."""


class TextLayout(msgspec.Struct, kw_only=True):
    """The text files of each split, and what was seen on the way."""

    files: dict[str, list[str]] = {}
    """Split to its files, relative to `root`; {"train": ...} where DATA is not split."""
    root: Path
    """DATA, or the folder of the one file that it is."""
    bad: list[BadPicture] = []
    others: Counter[str] = msgspec.field(default_factory=Counter)
    """Files that are no texts, by suffix."""


def text_kind(name: str) -> str:
    """`text`, `records`, or "" for neither, by a file's name; compressed files count as what is in them.

    >>> text_kind("a.md"), text_kind("b.jsonl.gz"), text_kind("c.png")
    ('text', 'records', '')
    """
    inner = suffix(name.lower().removesuffix(".gz"))
    return "records" if inner in RECORD_SUFFIXES else "text" if inner in TEXT_SUFFIXES else ""


def is_text(root: Path) -> bool:
    """Whether DATA is meant as texts; what is missing or unreadable is left to the pictures, who say so.

    Raises:
        BadInput: pictures and texts are mixed.
    """
    if not os.path.isdir(root):
        return os.path.isfile(root) and bool(text_kind(root.name))
    seen: Counter[str] = Counter()
    for path in _walk(root, []):
        seen[_kind(root, path)] += 1
    texts, pictures = seen["text"], seen["picture"]
    if texts == 0 or seen[".tar"] or texts <= CAPTIONS_PER_PICTURE * pictures:
        return False
    if texts >= TEXTS_PER_PICTURE * pictures:
        return True
    raise BadInput(
        say("{root} mixes pictures and texts", root=root),
        say("pictures: {pictures}, texts: {texts}; nothing says which are meant", pictures=pictures, texts=texts),
        say("give a folder that holds one of the two"),
    )


def _kind(root: Path, path: str) -> str:
    if text_kind(path):
        return "text"
    end = suffix(path)
    is_picture = end in PICTURE_SUFFIXES or (not end and _is_binary(root / path))
    return "picture" if is_picture else end


def _is_binary(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return b"\0" in file.read(SNIFFED_BYTES)
    except OSError:
        return False


def text_layout(root: Path) -> TextLayout:
    """The text files of DATA by split: those of the folders named train, val and test, or all of them as train.

    Raises:
        BadInput: two folders for the same split, or a split without train.
    """
    if root.is_file():
        return TextLayout(root=root.parent, files={"train": [root.name]})
    layout = TextLayout(root=root)
    found: list[str] = []
    for path in _walk(root, layout.bad):
        if text_kind(path):
            found.append(path)
        else:
            layout.others[suffix(path)] += 1
    layout.files = _by_split(root, sorted(found))
    return layout


def _by_split(root: Path, paths: list[str]) -> dict[str, list[str]]:
    """Split to files; named by the first folder, or, where they lie in DATA itself, by the file: `val.jsonl`."""
    folder_of: dict[str, set[str]] = {}
    placed: list[tuple[str, str]] = []
    for path in paths:
        first = Path(path).parts[0]
        named = first if "/" in path else first.split(".")[0]
        split = SPLIT_OF_FOLDER.get(named.lower(), "")
        if split:
            folder_of.setdefault(split, set()).add(first if "/" in path else path)
        placed.append((split, path))
    if "train" not in folder_of or len(folder_of) == 1:
        return {"train": paths}
    if twice := [names for names in folder_of.values() if len({name.lower().split(".")[0] for name in names}) > 1]:
        raise BadInput(
            say("two folders for the same split in {root}", root=root),
            say("found {names}", names=", ".join(sorted(map(printable, twice[0])))),
            say("keep one of train, one of val, valid or validation, and one of test"),
        )
    files: dict[str, list[str]] = {}
    for split, path in placed:
        if split:
            files.setdefault(split, []).append(path)
    return files


def _walk(root: Path, bad: list[BadPicture]) -> Iterator[str]:
    """Every file below DATA but hidden ones, relative to it; each folder once, however many links lead to it."""
    read = ancestors(root)
    pending = [""]
    while pending:
        folder = pending.pop()
        if (itself := identity(root / folder)) in read:
            bad.append(loop(folder))
            continue
        read.add(itself)
        for name in _names(root / folder, bad, folder):
            path = f"{folder}/{name}" if folder else name
            if os.path.isdir(root / path):
                pending.append(path)
            elif os.path.isfile(root / path):
                yield path
            else:
                bad.append(BadPicture(path=printable(path), reason=say("no file: nothing can be read there")))


def _names(folder: Path, bad: list[BadPicture], relative: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if not name.startswith("."))
    except OSError as error:
        bad.append(BadPicture(path=printable(relative or "."), reason=error.strerror or str(error)))
        return []
