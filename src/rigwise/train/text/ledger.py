"""texts.tsv of a run folder: which document was in which split, with its hash, so that a repeat notices a change.

The first line names DATA; then split, sha256 of what the document says, its name. Names are percent-encoded bytes, so
that any file name survives.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from rigwise.errors import BadInput
from rigwise.speech import printable, say
from rigwise.train.pictures.picture_ledger import home_relative, plain, quoted
from rigwise.train.text.text_set import SPLITS, Document, TextSet

FILE_NAME = "texts.tsv"
_HEADER = "# split\tsha256\tdocument"
_ROOT = "# root\t"


class RecordedText(msgspec.Struct, frozen=True):
    """Where one document was, and what it was."""

    split: str
    sha256: str


class TextLedger(msgspec.Struct, frozen=True):
    """What a run recorded of its documents."""

    root: Path
    """DATA as it was given: a folder, or one file."""
    documents: dict[str, RecordedText]
    """By name."""


def text_lines(root: Path, texts: TextSet) -> str:
    """The text of texts.tsv."""
    lines = [_ROOT + quoted(home_relative(root)), _HEADER]
    for split in SPLITS:
        for document in getattr(texts, split):
            lines.append("\t".join((split, document.sha256, quoted(document.name))))
    return "\n".join(lines) + "\n"


def read_text_lines(path: Path) -> TextLedger:
    """What an earlier run recorded of its documents.

    Raises:
        BadInput: the file is missing or damaged.
    """
    try:
        root, _, *rows = path.read_text("utf-8").splitlines()
        return TextLedger(Path(plain(root.removeprefix(_ROOT))).expanduser(), dict(_row(row) for row in rows))
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: `~`, and there is no home folder
        raise BadInput(
            say("cannot repeat from {folder}", folder=path.parent),
            say("{name} is missing or damaged: {error}", name=path.name, error=error),
            say("give a run folder that `rigwise train` made, or start anew: rigwise train DATA"),
        ) from error


def _row(line: str) -> tuple[str, RecordedText]:
    split, sha256, name = line.split("\t")
    if split not in SPLITS:
        raise ValueError(say("{split} is no split", split=repr(split)))
    return plain(name), RecordedText(split, sha256)


def text_changes(texts: TextSet, recorded: dict[str, RecordedText]) -> tuple[str, ...]:
    """One line per document that is not what it was: changed, missing or new; by name."""
    return tuple(sorted(_changes(texts, recorded)))


def _changes(texts: TextSet, recorded: dict[str, RecordedText]) -> Iterator[str]:
    now = {document.name: document for split in SPLITS for document in getattr(texts, split)}
    for name, before in recorded.items():
        document = now.get(name)
        if document is None:
            yield say("{path}: missing or unreadable now", path=printable(name))
        elif document.sha256 != before.sha256:
            yield say("{path}: its words changed", path=printable(name))
    for name in now.keys() - recorded.keys():
        yield say("{path}: new", path=printable(name))


def same_text_split(texts: TextSet, recorded: dict[str, RecordedText]) -> TextSet:
    """The documents in the splits and the order they had; a new one stays where the rule puts it."""
    placed: dict[str, list[Document]] = {split: [] for split in SPLITS}
    order = {name: place for place, name in enumerate(recorded)}
    for split in SPLITS:
        for document in getattr(texts, split):
            before = recorded.get(document.name)
            placed[before.split if before else split].append(document)
    for split in SPLITS:
        placed[split].sort(key=lambda document: order.get(document.name, len(order)))
    return msgspec.structs.replace(texts, **{split: tuple(placed[split]) for split in SPLITS})
