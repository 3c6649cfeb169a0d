"""Which error texts mean that memory ran out, and which only look like it: the table out_of_memory.toml."""

import re
import tomllib
from functools import cache
from importlib import resources
from typing import Literal

import msgspec

from rigwise.knowledge.signatures import signatures


class MemoryText(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One kind of text, and whether memory is what ran out."""

    id: str = ""
    signatures: tuple[str, ...] = ()
    """Rows of knowledge/signatures that are meant; they hold patterns, samples and sources."""
    patterns: tuple[str, ...] = ()
    memory: Literal["device", "host", "none"]
    """Which memory; `none` is never a reason to take a smaller batch."""
    certainty: Literal["certain", "likely"]
    """`likely` counts only where memory was short, or where nobody knows."""
    sample: str = ""
    sources: tuple[str, ...] = ()

    def is_in(self, text: str) -> bool:
        """Whether a text is of this kind."""
        return any(pattern.search(text) for pattern in _compiled(self.patterns))


@cache
def memory_texts() -> tuple[MemoryText, ...]:
    """Every row, in the order in which they are tried.

    Raises:
        ValueError: the table itself is wrong.
    """
    table = resources.files("rigwise.knowledge").joinpath("out_of_memory.toml").read_text(encoding="utf-8")
    return tuple(_row(name, row) for name, row in tomllib.loads(table).items())


def memory_text(text: str) -> MemoryText | None:
    """The first row that recognises a text; None where it has nothing to do with memory.

    >>> row = memory_text("RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED")
    >>> row.id, row.memory
    ('math_libraries', 'device')
    """
    return next((row for row in memory_texts() if row.is_in(text)), None)


def _row(name: str, row: object) -> MemoryText:
    told = msgspec.convert(row, MemoryText)
    known = {signature.id: signature for signature in signatures()}
    if unknown := set(told.signatures) - known.keys():
        raise ValueError(f"knowledge/out_of_memory.toml: {name} names {', '.join(unknown)}, which is no signature")
    meant = [known[one] for one in told.signatures]
    told = msgspec.structs.replace(
        told,
        id=name,
        patterns=(*told.patterns, *(pattern for one in meant for pattern in one.patterns)),
        sample=told.sample or meant[0].sample,
        sources=(*told.sources, *(source for one in meant for source in one.sources)),
    )
    if not told.sources or not told.is_in(told.sample):
        raise ValueError(f"knowledge/out_of_memory.toml: {name} has no source, or does not recognise its sample")
    return told


@cache
def _compiled(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern.replace(" ?", r"\s*").replace(" ", r"\s+")) for pattern in patterns)
