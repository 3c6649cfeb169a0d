"""One answer in, one reading out. Must not decide what a value means."""

import re
from collections.abc import Callable
from typing import TypeVar

from rigwise.records.evidence import Evidence, Status
from rigwise.records.reading import Reading, absent, present

T = TypeVar("T")
N = TypeVar("N", int, float)


def parsed(name: str, evidence: Evidence, parse: Callable[[str], T], text: str | None = None) -> Reading[T]:
    """The parsed answer; absent where there is none, `unreadable` where it cannot be understood.

    `text` is the one line of the answer to parse and to quote.
    """
    if evidence.status is not Status.OK:
        return absent(name, evidence)
    try:
        value = parse(evidence.text if text is None else text)
    except (ValueError, LookupError, ArithmeticError, RecursionError):
        return absent(name, evidence, Status.UNREADABLE)
    return present(name, value, evidence, text)


def above_zero(number: N) -> N:
    """The number itself, for what cannot be nothing: the size of a memory, a measured time.

    Raises:
        ValueError: it is zero or less.

    >>> above_zero(24)
    24
    """
    if number <= 0:
        raise ValueError(number)
    return number


def line_with(text: str, start: str) -> str:
    r"""The first line of `text` that begins with `start`, stripped.

    Raises:
        LookupError: there is none.

    >>> line_with("MemTotal: 1 kB\nMemFree: 2 kB", "MemFree:")
    'MemFree: 2 kB'
    """
    for line in text.splitlines():
        if line.startswith(start):
            return line.strip()
    raise LookupError(start)


def parsed_line(name: str, evidence: Evidence, start: str, parse: Callable[[str], T]) -> Reading[T]:
    """The parsed line of an answer that begins with `start`; `unreadable` where no line does."""
    if evidence.status is not Status.OK:
        return absent(name, evidence)
    try:
        return parsed(name, evidence, parse, line_with(evidence.text, start))
    except LookupError:
        return absent(name, evidence, Status.UNREADABLE)


def assignments(text: str) -> dict[str, str]:
    """The `name=value` pairs of an NVML answer.

    >>> assignments("major=8 minor=9")
    {'major': '8', 'minor': '9'}
    """
    return dict(re.findall(r"(\w+)=(\S+)", text))


def version_pair(text: str) -> tuple[int, int]:
    """A dotted version as (major, minor).

    >>> version_pair("12.4"), version_pair("13")
    ((12, 4), (13, 0))
    """
    major, _, rest = text.strip().partition(".")
    return int(major), int(rest.partition(".")[0] or 0)
