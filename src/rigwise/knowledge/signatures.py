"""Error texts by which faults are told: one table per family under knowledge/signatures, validated once."""

import datetime
import re
import tomllib
from functools import cache
from importlib import resources

import msgspec

from rigwise.speech import say

PLACES = ("program", "kernel")
BLAMES = ("application", "framework", "driver", "hardware", "link", "power", "environment", "system")
CERTAINTIES = ("certain", "likely", "possible")


class Signature(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One error text, what it means and what to do."""

    id: str = ""
    check: str
    """The check whose fault it is evidence for."""
    pattern: str
    """Regular expression, searched in the text without regard to line breaks unless it says so."""
    where: str
    """`program` output or `kernel` log."""
    sample: str
    """A real text that it recognises, and that no other signature does."""
    meaning: str
    blame: str
    certainty: str
    """How sure the text alone is: `certain`, `likely`, `possible`."""
    action: str
    """The fix, in one sentence."""
    surer: str
    """What to look at to be surer, in one sentence."""
    next_steps: tuple[str, ...]
    sources: tuple[str, ...]
    checked_on: datetime.date

    def search(self, text: str) -> str | None:
        """The line of `text` that it recognises; None where there is none."""
        found = _compiled(self.pattern).search(text)
        if found is None:
            return None
        start, end = text.rfind("\n", 0, found.start()) + 1, text.find("\n", found.end())
        return text[start : len(text) if end < 0 else end].strip()


@cache
def signatures() -> tuple[Signature, ...]:
    """Every signature, family by family, in the user's language.

    Raises:
        ValueError: a table itself is wrong.
    """
    tables = sorted(
        (file for file in resources.files("rigwise.knowledge").joinpath("signatures").iterdir()), key=lambda f: f.name
    )
    rows = [
        _row(name, row)
        for table in tables
        if table.name.endswith(".toml")
        for name, row in tomllib.loads(table.read_text(encoding="utf-8")).items()
    ]
    if len({row.id for row in rows}) != len(rows):
        raise ValueError("knowledge/signatures: an id stands twice")
    return tuple(rows)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _row(name: str, row: object) -> Signature:
    signature = msgspec.convert(row, Signature)
    for value, known in ((signature.where, PLACES), (signature.blame, BLAMES), (signature.certainty, CERTAINTIES)):
        if value not in known:
            raise ValueError(f"knowledge/signatures: {name} says {value}, which is none of {', '.join(known)}")
    return msgspec.structs.replace(
        signature,
        id=name,
        meaning=say(signature.meaning),
        action=say(signature.action),
        surer=say(signature.surer),
    )
