"""One file of DATA to its documents: the whole of a text file, or each line of a JSONL file.

A document is a list of parts, each either learned or only read. A record is one of

    {"text": "..."}                            all of it learned; the field's name is in the recipe
    {"prompt": "...", "completion": "..."}     the completion is learned
    {"messages": [{"role": ..., "content": ...}, ...]}     what the assistant says is learned

Messages are written as `role: content` lines, since the built-in model knows no other form.
"""

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from rigwise.records.bad_picture import BadPicture
from rigwise.speech import printable, say
from rigwise.train.text.layout import text_kind

LEARNED_ROLE = "assistant"


class Part(NamedTuple):
    """One stretch of a document."""

    text: str
    learned: bool = True


class RawDocument(NamedTuple):
    """A document as it was read."""

    record: int | None
    parts: tuple[Part, ...]

    @property
    def num_characters(self) -> int:
        """Of all parts."""
        return sum(len(part.text) for part in self.parts)


class _UnusableError(Exception):
    """A record cannot be used; the message is the reason."""


def read_documents(root: Path, path: str, field: str) -> Iterator[RawDocument | BadPicture]:
    """Every document of a file, and what of it cannot be used; documents without a character too.

    Args:
        root: DATA.
        path: relative to it.
        field: name of the text in a record.
    """
    try:
        if text_kind(path) == "text":
            yield RawDocument(None, (Part(_text_of(_content(root / path))),))
            return
        yield from _records(root, path, field)
    except (OSError, EOFError, zlib.error) as error:
        yield BadPicture(path=printable(path), reason=getattr(error, "strerror", None) or str(error))
    except _UnusableError as error:
        yield BadPicture(path=printable(path), reason=str(error))


def _content(path: Path) -> bytes:
    with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
        return file.read()


def _text_of(content: bytes) -> str:
    if b"\0" in content:
        raise _UnusableError(say("it holds NUL bytes: no text in UTF-8"))
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _UnusableError(say("it is no text in UTF-8: {reason}", reason=error.reason)) from error


def _records(root: Path, path: str, field: str) -> Iterator[RawDocument | BadPicture]:
    full = root / path
    with gzip.open(full) if full.suffix.lower() == ".gz" else full.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                yield RawDocument(number, tuple(_merged(_parts(_parsed(line), field))))
            except _UnusableError as error:
                yield BadPicture(path=f"{printable(path)}:{number}", reason=str(error))


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(_text_of(line))
    except (ValueError, RecursionError) as error:
        raise _UnusableError(say("it is no JSON: {error}", error=error)) from error
    if not isinstance(record, dict):
        raise _UnusableError(say("a record is an object, not {kind}", kind=type(record).__name__))
    return record


def _parts(record: dict[str, Any], field: str) -> list[Part]:
    if field in record:
        return [Part(_string(record[field], field))]
    if "completion" in record:
        prompt = _string(record.get("prompt", ""), "prompt")
        return [Part(prompt, learned=False), Part(_string(record["completion"], "completion"))]
    if "messages" in record:
        return _messages(record["messages"])
    keys = ", ".join(sorted(map(repr, record))) or say("none")
    raise _UnusableError(
        say("it has neither {field}, completion nor messages, but {keys}", field=repr(field), keys=keys)
    )


def _messages(messages: Any) -> list[Part]:
    if not isinstance(messages, list) or not all(isinstance(each, dict) for each in messages):
        raise _UnusableError(say("messages are a list of objects with role and content"))
    parts = []
    for message in messages:
        role = _string(message.get("role"), "role")
        content = _string(message.get("content"), "content")
        parts += [Part(f"{role}: ", learned=False), Part(f"{content}\n", learned=role == LEARNED_ROLE)]
    if not any(part.learned for part in parts):
        raise _UnusableError(say("no message is of the {role}: nothing to learn", role=LEARNED_ROLE))
    return parts


def _string(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise _UnusableError(say("{name} is a text, not {kind}", name=name, kind=type(value).__name__))
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise _UnusableError(say("{name} holds half of a surrogate pair", name=name)) from error
    return value


def _merged(parts: list[Part]) -> Iterator[Part]:
    """Neighbours that are learned alike as one; empty ones left out."""
    waiting: Part | None = None
    for part in parts:
        if not part.text:
            continue
        if waiting is not None and waiting.learned == part.learned:
            waiting = Part(waiting.text + part.text, part.learned)
            continue
        if waiting is not None:
            yield waiting
        waiting = part
    if waiting is not None:
        yield waiting
