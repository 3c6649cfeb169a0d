"""The patterns of every kind of evidence, ready to be searched for in a whole text.

One search over all kinds finds where the next one starts; it must be fast, for it looks at every line. So it is one
flat alternation without groups, each branch beginning with a character or a set: the regular expression engine skips a
branch whose first character does not fit without entering it. Which kind it was is asked again at the place found.
"""

import re
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from rigwise.knowledge.kinds_of_evidence import Kind, kinds_of_evidence

SHORTEST_START = 4
"""No line that starts a kind is shorter, brackets of JSON aside."""
_REST_OF_LINE = r"[^\n]*+(?:\n|\Z)"
_LEADING_CHOICE = re.compile(r"\(\?:([^()]*)\)(?![?*+{])(.*)", re.DOTALL)
_NEVER = r"(?!)"


class Told(NamedTuple):
    """One kind, and the patterns by which it is told."""

    kind: Kind
    commands: tuple[re.Pattern[str], ...]
    """Whole command lines that print it."""
    starts: re.Pattern[str]
    """Its first line's beginning, indentation aside."""
    block: re.Pattern[str]
    """All its lines, from the first."""
    below_command: re.Pattern[str]
    """Lines that are its own only below its command."""


@cache
def told() -> tuple[Told, ...]:
    """Every kind, in the order in which they are tried."""
    return tuple(_told(kind) for kind in kinds_of_evidence())


@cache
def any_start() -> re.Pattern[str]:
    """A line that starts some kind."""
    starts = "|".join(branch for kind in kinds_of_evidence() for start in kind.starts for branch in branches(start))
    long_enough = rf"(?=[^\n]{{{SHORTEST_START}}}|\{{[ \t]*\n[ \t]*\"|\[[ \t]*\n[ \t]*\{{)"
    return re.compile(rf"^[ \t]*+{long_enough}(?:{starts})", re.MULTILINE)


def kind_at(text: str, start: int, end: int) -> Told:
    """The kind that starts at a place where `any_start` was found."""
    return next(entry for entry in told() if entry.starts.match(text, start, end))


def branches(start: str) -> list[str]:
    """The pattern as several, its leading choice taken apart.

    >>> branches("(?:Mem|Swap): +[0-9]"), branches("NVRM: ")
    (['Mem: +[0-9]', 'Swap: +[0-9]'], ['NVRM: '])
    """
    choice = _LEADING_CHOICE.fullmatch(start)
    return [f"{first}{choice[2]}" for first in choice[1].split("|")] if choice else [start]


def _told(kind: Kind) -> Told:
    first = _any_of(kind.starts)
    lines = _lines(kind, (*kind.starts, *kind.goes_on))
    return Told(
        kind,
        tuple(map(re.compile, kind.command)),
        re.compile(rf"[ \t]*+{first}", re.MULTILINE),
        re.compile(rf"[ \t]*+{first}{_REST_OF_LINE}{lines}", re.MULTILINE),
        re.compile(_lines(kind, (*kind.hinted, *kind.starts, *kind.goes_on)), re.MULTILINE),
    )


def _lines(kind: Kind, goes_on: Iterable[str]) -> str:
    """Any number of lines that go on, with as many empty lines between them as the kind allows."""
    line = rf"[ \t]*+{_any_of(goes_on)}{_REST_OF_LINE}"
    if not kind.blanks:
        return rf"(?:{line})*+"
    resumes = _any_of(kind.resumes or goes_on)
    return rf"(?:{line}|(?:[ \t]*+\n){{1,{kind.blanks}}}+[ \t]*+{resumes}{_REST_OF_LINE})*+"


def _any_of(patterns: Iterable[str]) -> str:
    return f"(?:{'|'.join(patterns) or _NEVER})"
