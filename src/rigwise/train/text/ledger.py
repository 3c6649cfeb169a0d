"""texts.tsv of a run folder: which document was in which split, with its hash; columns: split, sha256 of what the
document says, its name.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from rigwise.speech import printable, say
from rigwise.train.sample_ledger import SPLITS, as_recorded, ledger_text, plain, quoted, read_ledger
from rigwise.train.text.text_set import TextSet

FILE_NAME = "texts.tsv"
COLUMNS = ("split", "sha256", "document")


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
    rows = ((split, document.sha256, quoted(document.name)) for split in SPLITS for document in getattr(texts, split))
    return ledger_text(root, COLUMNS, rows)


def read_text_lines(path: Path) -> TextLedger:
    """What an earlier run recorded of its documents.

    Raises:
        BadInput: the file is missing or damaged.
    """
    return TextLedger(*read_ledger(path, _row))


def _row(cells: Sequence[str]) -> tuple[str, RecordedText]:
    split, sha256, name = cells
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
    splits = {split: getattr(texts, split) for split in SPLITS}
    return msgspec.structs.replace(texts, **as_recorded(splits, lambda document: document.name, recorded))
