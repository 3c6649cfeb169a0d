"""The texts of a run: which documents, of what parts, in which split."""

from pathlib import Path

import msgspec

from rigwise.records.text import TextSummary
from rigwise.train.sample_ledger import SPLITS


class PartKey(msgspec.Struct, frozen=True):
    """One stretch of a document, known by the SHA-256 of its text."""

    sha256: str
    learned: bool = True
    """Whether the model is to say it; a prompt is only read."""


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """One usable document."""

    path: str
    """Relative to the root, as the file system names it (surrogateescape for odd encodings)."""
    record: int | None = None
    """Line of a JSONL file (1-based); None for a whole file."""
    span: tuple[int, int] | None = None
    """First character and the one behind the last, of a single text that was cut in two."""
    sha256: str
    """Of its parts: equal for copies, wherever they lie."""
    parts: tuple[PartKey, ...]

    @property
    def name(self) -> str:
        """What tells it from every other one of DATA: `notes.jsonl:17`, `book.txt[0:900]`."""
        name = self.path if self.record is None else f"{self.path}:{self.record}"
        return name if self.span is None else f"{name}[{self.span[0]}:{self.span[1]}]"


class TextSet(msgspec.Struct, frozen=True, kw_only=True):
    """All usable documents of DATA, split; `summary` is what people and reports read."""

    root: Path
    train: tuple[Document, ...]
    val: tuple[Document, ...]
    test: tuple[Document, ...]
    summary: TextSummary

    @property
    def has_prompts(self) -> bool:
        """Whether some document has a part that is only read."""
        return any(not part.learned for split in SPLITS for document in getattr(self, split) for part in document.parts)
