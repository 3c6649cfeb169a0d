"""The catalogue of checks: what people read about each, and how checks hang together. Validated once."""

import datetime
import tomllib
from functools import cache
from importlib import resources

import msgspec

from rigwise.records.finding import Severity
from rigwise.speech import say


class CheckRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One check of checks.toml; the order of the file is the order of trust."""

    title: str
    """The fault, as a headline."""
    severity: Severity
    action: str
    """What to do about it, in one sentence."""
    next_steps: tuple[str, ...]
    """Commands to run next, shown and never run."""
    sources: tuple[str, ...]
    """Where the rule comes from."""
    checked_on: datetime.date
    """When the sources were last read."""
    follows: tuple[str, ...] = ()
    """Checks further up whose fault brings this fault with it, which is then their symptom."""
    needs: tuple[str, ...] = ()
    """Checks whose fault keeps this one from telling anything."""
    essential: bool = False
    """Without this one nothing can be decided."""


@cache
def check_catalogue() -> dict[str, CheckRow]:
    """Every check by id, most trusted first, its title and action in the user's language.

    Raises:
        ValueError: the catalogue itself is wrong.
    """
    text = resources.files("rigwise.knowledge").joinpath("checks.toml").read_text(encoding="utf-8")
    catalogue = msgspec.convert(tomllib.loads(text), dict[str, CheckRow])
    above: set[str] = set()
    for check, row in catalogue.items():
        strangers = (set(row.follows) - above) | (set(row.needs) - set(catalogue))
        if strangers:
            raise ValueError(f"checks.toml: {check} follows or needs {', '.join(sorted(strangers))}, not above it")
        above.add(check)
    return {check: _in_words(row) for check, row in catalogue.items()}


def _in_words(row: CheckRow) -> CheckRow:
    """The row in the user's language; its commands stay as they are."""
    return msgspec.structs.replace(row, title=say(row.title), action=say(row.action))
