"""The catalogue of checks: what people read about each, and how checks hang together. Validated once."""

import datetime
import tomllib
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import resources

import msgspec

from rigwise.records.finding import Severity
from rigwise.speech import say


class CheckRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One check of knowledge/checks; the order of the files and rows is the order of trust."""

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
    rows: tuple[str, ...] = ()
    """The tasks (T1 to T20) and symptoms (S1 to S8, P1 to P6) that it serves."""
    follows: tuple[str, ...] = ()
    """Checks whose fault brings this fault with it, which is then their symptom."""
    needs: tuple[str, ...] = ()
    """Checks whose fault keeps this one from telling anything."""
    essential: bool = False
    """Without this one nothing can be decided."""
    told_only: bool = False
    """It has no module: only error texts (knowledge/signatures) tell of it."""


@cache
def check_catalogue() -> dict[str, CheckRow]:
    """Every check by id, most trusted first, its title and action in the user's language.

    Raises:
        ValueError: the catalogue itself is wrong.
    """
    folder = resources.files("rigwise.knowledge").joinpath("checks")
    tables = sorted((file for file in folder.iterdir() if file.name.endswith(".toml")), key=lambda file: file.name)
    text = "\n".join(table.read_text(encoding="utf-8") for table in tables)
    catalogue = msgspec.convert(tomllib.loads(text), dict[str, CheckRow])
    for check, row in catalogue.items():
        strangers = {*row.follows, *row.needs} - set(catalogue)
        if strangers:
            raise ValueError(f"knowledge/checks: {check} follows or needs {', '.join(sorted(strangers))}, no check")
    try:
        TopologicalSorter({check: row.follows for check, row in catalogue.items()}).prepare()
    except CycleError as cycle:
        raise ValueError(f"knowledge/checks: symptoms in a circle: {', '.join(cycle.args[1])}") from cycle
    return {check: _in_words(row) for check, row in catalogue.items()}


def _in_words(row: CheckRow) -> CheckRow:
    """The row in the user's language; its commands stay as they are."""
    return msgspec.structs.replace(row, title=say(row.title), action=say(row.action))
