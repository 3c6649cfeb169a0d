"""What changed between two looks at machines, for the terminal: the most relevant first."""

from collections.abc import Sequence
from itertools import groupby

from rich.console import Group, RenderableType
from rich.text import Text

from rigwise.records.difference import Change, Difference, Kind
from rigwise.records.finding import RIG
from rigwise.report.text import labelled_lines, next_line, printable
from rigwise.speech import say

MAX_LISTED = 12
"""Changes of one kind shown before the rest is counted; an upgrade changes a hundred packages."""


def diff_text(difference: Difference, next_command: str) -> RenderableType:
    """The answer, the changes by kind, what could not be compared, the next command."""
    body = labelled_lines()
    for kind, changes in groupby(difference.changes, key=lambda change: change.kind):
        lines = [_line(change) for change in changes]
        shown = lines[:MAX_LISTED]
        if len(lines) > len(shown):
            shown.append(say("{count} more with --json", count=len(lines) - len(shown)))
        for position, line in enumerate(shown):
            body.add_row(Text(f"  {_label(kind)}" if position == 0 else "", style="dim"), Text(printable(line)))
    sides = say("{before} -> {after}", before=difference.before, after=difference.after)
    parts: list[RenderableType] = [_answer(difference), Text(f"  {printable(sides)}", style="dim"), Text()]
    if body.row_count:
        parts += [body, Text()]
    return Group(*parts, Text(f"  {_coverage(difference)}", style="dim"), Text(), next_line(next_command))


def _answer(difference: Difference) -> Text:
    if not difference.changed:
        return Text.assemble((say("THE SAME"), "bold green"), f"   {say('nothing relevant changed')}")
    first, *others = (change for change in difference.changes if change.kind is not Kind.MOMENT)
    headline = _line(first) + (say(", and {count} more", count=len(others)) if others else "")
    return Text.assemble((say("CHANGED"), "bold yellow"), "   ", (printable(headline), "bold"))


def _line(change: Change) -> str:
    """`GPU 1 · power limit: 450 W -> 380 W`."""
    where = f"{change.target} · " if change.target != RIG else ""
    return f"{where}{change.what}: {change.words}"


def _label(kind: Kind) -> str:
    return {
        Kind.FINDING: say("problems"),
        Kind.GPU: say("GPUs"),
        Kind.STACK: say("stack"),
        Kind.SETTING: say("settings"),
        Kind.COUNTER: say("counters"),
        Kind.PACKAGE: say("packages"),
        Kind.MOMENT: say("passing"),
    }[kind]


def _coverage(difference: Difference) -> str:
    parts = [say("{count} facts equal", count=difference.num_equal)]
    for side, keys in ((difference.before, difference.only_before), (difference.after, difference.only_after)):
        if keys:
            parts.append(say("only {side} tells: {keys}", side=side, keys=_some(keys)))
    return printable(" · ".join(parts))


def _some(keys: Sequence[str]) -> str:
    shown = ", ".join(keys[:4])
    return shown if len(keys) <= 4 else say("{shown} and {count} more", shown=shown, count=len(keys) - 4)
