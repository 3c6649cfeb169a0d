"""DATA to a `TextSet`: which documents it holds, and which of them train, validate or test.

Documents with the same words are one group, which is never on two sides of a split. One text alone is cut in two:
its end validates.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec

from rigwise.errors import BadInput
from rigwise.records.bad_picture import BadPicture
from rigwise.records.text import TextSummary
from rigwise.speech import printable, say
from rigwise.train.pictures.split import split_groups
from rigwise.train.progress import Progress, Silent
from rigwise.train.sample_ledger import SPLITS
from rigwise.train.text.faults import must_be_mostly_good, must_have_splits, must_hold_documents
from rigwise.train.text.layout import TextLayout, text_layout
from rigwise.train.text.records import Part, RawDocument, read_documents
from rigwise.train.text.text_set import Document, PartKey, TextSet
from rigwise.units import percent


class TextPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How DATA is read and split."""

    seed: int
    field: str = "text"
    """Name of the text in a JSONL record."""
    val_ratio: float = 0.1
    test_ratio: float = 0.0
    max_bad_ratio: float = 0.05


class _Read(NamedTuple):
    """A document, where it lies in DATA and how long it is."""

    document: Document
    split: str
    num_characters: int


class _Seen(msgspec.Struct, kw_only=True):
    """What was read so far."""

    usable: list[_Read] = []
    bad: list[BadPicture] = []
    num_empty: int = 0


def read_texts(root: Path, plan: TextPlan, progress: Progress | None = None) -> TextSet:
    """All usable documents of DATA, split; every file is read once.

    Raises:
        BadInput: DATA cannot be trained on.
    """
    layout = text_layout(root)
    seen = _read_all(layout, plan.field, progress or Silent())
    if len(seen.usable) == 1 and "val" not in layout.files:
        seen.usable = _two_pieces(layout, seen.usable[0], plan)
    must_be_mostly_good(root, seen.bad, len(seen.usable), plan.max_bad_ratio)
    must_hold_documents(root, layout, {one.document.sha256 for one in seen.usable}, seen.num_empty)
    placed, rule = _split(seen.usable, layout, plan)
    must_have_splits(root, {one.split for one in placed})
    return _text_set(root, layout, seen, placed, rule)


def cut_at(text: str, ratio: float) -> int:
    r"""Where a text is cut so that about `ratio` of it comes before, at the end of a line where there is one near.

    >>> cut_at("one\ntwo\nthree\n", 0.5)
    8
    """
    aimed = max(1, min(len(text) - 1, round(len(text) * ratio)))
    line_end = text.find("\n", aimed - 1, aimed + 1 + len(text) // 20) + 1
    return line_end if 0 < line_end < len(text) else aimed


def reread(root: Path, documents: Iterable[Document], field: str) -> Iterator[tuple[Document, tuple[Part, ...]]]:
    """What these documents say, read from DATA once more, file by file.

    Raises:
        BadInput: a file is no longer what it was.
    """
    by_file: dict[str, dict[int | None, list[Document]]] = {}
    for document in documents:
        by_file.setdefault(document.path, {}).setdefault(document.record, []).append(document)
    for path, by_record in by_file.items():
        for raw in read_documents(root, path, field):
            if not isinstance(raw, RawDocument):
                continue
            for document in by_record.pop(raw.record, ()):
                parts = _spanned(raw.parts, document.span)
                if _keys(parts) != document.parts:
                    raise _changed(root / path)
                yield document, parts
        if by_record:
            raise _changed(root / path)


def _changed(path: Path) -> BadInput:
    return BadInput(
        say("{path} changed while it was read", path=path),
        say("its documents are not what they were moments ago"),
        say("wait until nothing writes there, then run the same command again"),
    )


def _spanned(parts: tuple[Part, ...], span: tuple[int, int] | None) -> tuple[Part, ...]:
    return parts if span is None else (Part(parts[0].text[slice(*span)], parts[0].learned),)


def _keys(parts: tuple[Part, ...]) -> tuple[PartKey, ...]:
    return tuple(PartKey(sha256(part.text.encode()).hexdigest(), part.learned) for part in parts)


def _document(path: str, raw: RawDocument, span: tuple[int, int] | None = None) -> Document:
    keys = _keys(_spanned(raw.parts, span))
    digest = sha256(b"".join(bytes.fromhex(key.sha256) + bytes([key.learned]) for key in keys))
    return Document(path=path, record=raw.record, span=span, sha256=digest.hexdigest(), parts=keys)


def _read_all(layout: TextLayout, field: str, progress: Progress) -> _Seen:
    seen = _Seen(bad=list(layout.bad))
    num_files = sum(map(len, layout.files.values()))
    done = 0
    for split, paths in layout.files.items():
        for path in paths:
            for found in read_documents(layout.root, path, field):
                _note(seen, found, path, split)
            done += 1
            progress.update(done, num_files)
    return seen


def _note(seen: _Seen, found: RawDocument | BadPicture, path: str, split: str) -> None:
    if isinstance(found, BadPicture):
        seen.bad.append(found)
    elif not any(part.learned and part.text.strip() for part in found.parts):
        seen.num_empty += 1
    else:
        seen.usable.append(_Read(_document(path, found), split, found.num_characters))


def _two_pieces(layout: TextLayout, only: _Read, plan: TextPlan) -> list[_Read]:
    """A single text as two documents, the end of it validation; as it is where it has a prompt or one character."""
    path, record = only.document.path, only.document.record
    found = (each for each in read_documents(layout.root, path, plan.field) if isinstance(each, RawDocument))
    raw = next(each for each in found if each.record == record)
    text = raw.parts[0].text
    if len(raw.parts) > 1 or len(text) < 2:
        return [only]
    cut = cut_at(text, 1 - plan.val_ratio)
    spans = {"train": (0, cut), "val": (cut, len(text))}
    return [_Read(_document(path, raw, span), split, span[1] - span[0]) for split, span in spans.items()]


def _split(usable: list[_Read], layout: TextLayout, plan: TextPlan) -> tuple[list[_Read], str]:
    """The documents with the split each belongs to, and the rule in words."""
    if "val" in layout.files:
        return usable, say("as the folders of DATA say")
    if {one.split for one in usable} == {"train", "val"}:
        return usable, say("one text: its last {val} validate", val=percent(plan.val_ratio))
    test_ratio = 0.0 if "test" in layout.files else plan.test_ratio
    groups = {"": {one.document.sha256 for one in usable if one.split == "train"}}
    placed = split_groups(groups, seed=plan.seed, val_ratio=plan.val_ratio, test_ratio=test_ratio)
    moved = [one._replace(split=placed[one.document.sha256]) if one.split == "train" else one for one in usable]
    return moved, say(
        "copies grouped by what they say; documents in order of SHA-256 of seed {seed} and words; the first {val} (at "
        "least one) validate, the next {test} test, the rest train",
        seed=plan.seed,
        val=percent(plan.val_ratio),
        test=percent(test_ratio),
    )


def _text_set(root: Path, layout: TextLayout, seen: _Seen, placed: list[_Read], rule: str) -> TextSet:
    of_split = {split: [one for one in placed if one.split == split] for split in SPLITS}
    summary = TextSummary(
        root=printable(root),
        counts={split: len(found) for split, found in of_split.items()},
        characters={split: sum(one.num_characters for one in found) for split, found in of_split.items()},
        split_rule=rule,
        bad=tuple(seen.bad),
        notes=tuple(_notes(layout, seen, of_split)),
    )
    documents = {
        split: tuple(
            sorted((one.document for one in found), key=lambda document: (document.path, document.record or 0))
        )
        for split, found in of_split.items()
    }
    return TextSet(root=layout.root, summary=summary, **documents)


def _notes(layout: TextLayout, seen: _Seen, of_split: dict[str, list[_Read]]) -> Iterator[str]:
    """What to know before trusting a loss, most harmful first."""
    train = {one.document.sha256 for one in of_split["train"]}
    for split in ("val", "test"):
        if leaked := sum(one.document.sha256 in train for one in of_split[split]):
            yield say(
                "documents of {split} that are also in train, which flatters its loss: {count}",
                split=split,
                count=leaked,
            )
    numbers = Counter(one.document.sha256 for found in of_split.values() for one in found)
    if copies := numbers.total() - len(numbers):
        yield say("copies of another document: {count}", count=copies)
    if seen.num_empty:
        yield say("documents without anything to learn, not used: {count}", count=seen.num_empty)
    if layout.others:
        suffixes = ", ".join(printable(end) or say("no suffix") for end in sorted(layout.others))
        count = layout.others.total()
        yield say("other files ignored: {count} ({suffixes})", count=count, suffixes=suffixes)
