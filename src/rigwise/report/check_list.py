"""Every check by name: what it looks for, and which rows of the mission it serves."""

from collections.abc import Sequence

import msgspec
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from rigwise.knowledge.check_catalogue import check_catalogue
from rigwise.records.finding import Severity
from rigwise.report.json_text import json_text
from rigwise.speech import say

CHECKS_SCHEMA = "rigwise.checks/1"


class ListedCheck(msgspec.Struct, frozen=True, kw_only=True):
    """One check of the catalogue."""

    id: str
    rows: tuple[str, ...]
    severity: Severity
    title: str


class CheckList(msgspec.Struct, frozen=True, kw_only=True):
    """What `rigwise check --list --json` prints: the checks, most trusted first."""

    schema: str = CHECKS_SCHEMA
    checks: tuple[ListedCheck, ...]


def list_json(selected: Sequence[str]) -> str:
    """One JSON object: schema and checks."""
    rows = check_catalogue()
    listed = (
        ListedCheck(id=check, rows=rows[check].rows, severity=rows[check].severity, title=rows[check].title)
        for check in selected
    )
    return json_text(CheckList(checks=tuple(listed)))


def list_text(selected: Sequence[str]) -> RenderableType:
    """One check a line."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for head in (say("check"), say("rows"), say("severity")):
        table.add_column(head, no_wrap=True)
    table.add_column(say("looks for"), overflow="fold")
    for check in selected:
        row = check_catalogue()[check]
        table.add_row(Text(check), " ".join(row.rows), row.severity, Text(row.title))
    return table
