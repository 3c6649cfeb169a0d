"""Each document tokenised once: kept in a mapped file in the user's cache folder, found again by the next run.

    $XDG_CACHE_HOME/rigwise/tokens/KEY     (~/.cache/rigwise/tokens/KEY)

Parts of documents are known by the SHA-256 of what they say: one that changed is tokenised again, one that comes twice
is kept once. Another tokeniser is another KEY. Special tokens are not in the file. Deleting the folder is always safe.
"""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from hashlib import sha256
from itertools import chain, islice
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import numpy as np
import numpy.typing as npt

from rigwise.errors import BadInput
from rigwise.speech import say
from rigwise.train.kept.array_file import ArrayFile, lock
from rigwise.train.kept.place import cache_base
from rigwise.train.machine import free_disk_bytes
from rigwise.train.pictures.cache.space import DISK_LEFT_BYTES
from rigwise.train.progress import Progress
from rigwise.train.sample_ledger import SPLITS
from rigwise.train.text import tokeniser as tokenising
from rigwise.train.text.corpus import reread
from rigwise.train.text.text_set import Document, TextSet
from rigwise.train.text.tokeniser import Tokeniser, Tokens, token_type
from rigwise.units import memory

DOCUMENTS_AT_ONCE = 64
"""Encoded together, so that a tokeniser's own threads have something to share."""
MOST_BYTES_PER_CHARACTER = 4
"""Tokens of a text are at most its bytes of UTF-8, four a character."""

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class TokenTable(msgspec.Struct, frozen=True, kw_only=True):
    """The tokens of one split's documents. It names the file and maps it where it is used, so it can be sent."""

    path: Path
    dtype: str
    file_bytes: int
    """Of the file when this table was made; it only grows."""
    offsets: Ints
    """`(P,)` bytes, of each part."""
    lengths: Ints
    """`(P,)` tokens."""
    learned: Flags
    """`(P,)`"""
    first_parts: Ints
    """`(D + 1,)`: of each document its first part, and the number of parts at the end."""
    start: int
    end: int
    """Special tokens before and after each document."""

    @property
    def num_documents(self) -> int:
        """D."""
        return len(self.first_parts) - 1

    @property
    def document_lengths(self) -> Ints:
        """`(D,)` tokens of each document, the special ones included."""
        sums = np.concatenate([[0], np.cumsum(self.lengths)])
        lengths: Ints = sums[self.first_parts[1:]] - sums[self.first_parts[:-1]] + 2
        return lengths

    @property
    def num_before_learned(self) -> Ints:
        """`(D,)` tokens of each document between its start and the first one to be learned."""
        sums = np.concatenate([[0], np.cumsum(self.lengths)])
        inside = sums[:-1] - np.repeat(sums[self.first_parts[:-1]], np.diff(self.first_parts))
        found: Ints = np.minimum.reduceat(np.where(self.learned, inside, np.iinfo(np.int64).max), self.first_parts[:-1])
        return found

    def document(self, index: int, first: int = 0, count: int | None = None) -> tuple[Ints, Flags]:
        """At most `count` tokens `(T,)` of a document from `first` on, and which of them are to be learned.

        The special tokens before and after it are among them. Only what is asked for is read.
        """
        mapped = _mapped(self.path, self.dtype, self.file_bytes)
        parts = range(int(self.first_parts[index]), int(self.first_parts[index + 1]))
        last = sys.maxsize if count is None else first + count
        place, tokens, flags = 1, [np.array([self.start])], [np.array([False])]
        if first > 0:
            tokens, flags = [], []
        for part in parts:
            start, length = int(self.offsets[part]) // mapped.itemsize, int(self.lengths[part])
            inside = slice(start + min(max(0, first - place), length), start + min(max(0, last - place), length))
            tokens.append(mapped[inside])
            flags.append(np.full(len(tokens[-1]), self.learned[part]))
            place += length
        if first <= place < last:
            tokens.append(np.array([self.end]))
            flags.append(self.learned[parts.stop - 1 : parts.stop])
        return np.concatenate(tokens).astype(np.int64), np.concatenate(flags)


@lru_cache(maxsize=8)
def _mapped(path: Path, dtype: str, file_bytes: int) -> npt.NDArray[Any]:
    if file_bytes == 0:
        return np.empty(0, dtype)
    return np.asarray(np.memmap(path, dtype, mode="r", shape=(file_bytes // np.dtype(dtype).itemsize,)))


class TokenFile(ArrayFile):
    """The tokens of one DATA and one tokeniser."""

    NAME: ClassVar[str] = "tokens.bin"


def tokenised(
    texts: TextSet, tokeniser: Tokeniser, field: str, progress: Progress, base: Path | None = None
) -> dict[str, TokenTable]:
    """Split to the tokens of its documents; what was kept by an earlier run is checked and used.

    Args:
        texts: DATA, split.
        tokeniser: what makes tokens of it.
        field: name of the text in a JSONL record.
        progress: told how far it is.
        base: where caches lie; None for the user's cache folder.

    Raises:
        BadInput: DATA changed meanwhile, or the tokens cannot be written.
    """
    folder = (base or cache_base("tokens")) / _key(texts.root, tokeniser)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with lock(folder) as is_ours:
            if not is_ours:
                raise _cannot_keep(folder, say("another run tokenises the same texts"))
            file = TokenFile(folder, token_type(tokeniser))
            _fill(file, texts, tokeniser, field, progress)
    except OSError as error:
        raise _cannot_keep(folder, error.strerror or str(error)) from error
    return {split: _table(file, getattr(texts, split), tokeniser) for split in SPLITS}


def _fill(file: TokenFile, texts: TextSet, tokeniser: Tokeniser, field: str, progress: Progress) -> None:
    documents = list(chain.from_iterable(getattr(texts, split) for split in SPLITS))
    wanted = {part.sha256 for document in documents for part in document.parts}
    file.forget_stale(wanted)
    progress.begin(say("checking kept tokens"), len(wanted & file.entries.keys()))
    damaged = file.drop_damaged(wanted, progress.advance)
    progress.end()
    if damaged:
        progress.tell(say("damaged parts in the cache of tokens, tokenised again: {count}", count=damaged))
    missing = [document for document in documents if any(part.sha256 not in file for part in document.parts)]
    if not missing:
        return
    _must_fit(file, texts)
    progress.begin(say("tokenising"), len(missing))
    try:
        file.add(_encoded(reread_texts(texts.root, missing, field), tokeniser, set(file.entries), progress))
    finally:
        progress.end()


def reread_texts(root: Path, documents: Sequence[Document], field: str) -> Iterator[list[tuple[str, str]]]:
    """Of each document, the SHA-256 and the words of its parts."""
    for document, parts in reread(root, documents, field):
        yield [(key.sha256, part.text) for key, part in zip(document.parts, parts, strict=True)]


def _encoded(
    documents: Iterable[list[tuple[str, str]]], tokeniser: Tokeniser, known: set[str], progress: Progress
) -> Iterator[tuple[str, Tokens]]:
    """What is not known yet, each part once."""
    remaining = iter(documents)
    while chunk := list(islice(remaining, DOCUMENTS_AT_ONCE)):
        new = {digest: text for parts in chunk for digest, text in parts if digest not in known}
        yield from zip(new, tokeniser.encode(list(new.values())), strict=True)
        known |= new.keys()
        for _ in chunk:
            progress.advance()


def _must_fit(file: TokenFile, texts: TextSet) -> None:
    needed = sum(texts.summary.characters.values()) * MOST_BYTES_PER_CHARACTER * file.dtype.itemsize
    free = free_disk_bytes(file.folder)
    if free is not None and needed > free - DISK_LEFT_BYTES:
        why = say("tokens take up to {needed}; {free} are free", needed=memory(needed), free=memory(free))
        raise _cannot_keep(file.folder, why)


def _table(file: TokenFile, documents: Sequence[Document], tokeniser: Tokeniser) -> TokenTable:
    parts = [part for document in documents for part in document.parts]
    entries = [file.entries[part.sha256] for part in parts]
    return TokenTable(
        path=file.path,
        dtype=file.dtype.str,
        file_bytes=max((entry.end for entry in file.entries.values()), default=0),
        offsets=np.array([entry.offset for entry in entries], np.int64),
        lengths=np.array([entry.shape[0] for entry in entries], np.int64),
        learned=np.array([part.learned for part in parts], np.bool_),
        first_parts=np.concatenate([[0], np.cumsum([len(document.parts) for document in documents])]).astype(np.int64),
        start=tokeniser.start,
        end=tokeniser.end,
    )


def _key(root: Path, tokeniser: Tokeniser) -> str:
    """Of DATA and of everything that decides what tokens a text becomes."""
    code = Path(tokenising.__file__).read_bytes()
    place = os.path.realpath(root).encode("utf-8", "surrogateescape").hex()
    return sha256(msgspec.json.encode([place, tokeniser.fingerprint]) + code).hexdigest()[:16]


def _cannot_keep(folder: Path, why: str) -> BadInput:
    return BadInput(
        say("the tokens of these texts cannot be kept in {folder}", folder=folder),
        why,
        say("make room, or name another cache folder: XDG_CACHE_HOME=DIR rigwise train ..."),
    )
