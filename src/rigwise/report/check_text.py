"""A check report for the terminal: decision, first cause with its evidence, next command, the rest counted."""

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rigwise.records.finding import Action, CheckReport, Finding
from rigwise.report.causes import Arranged, Cause, absence_words, action_word, arrange
from rigwise.report.text import printable
from rigwise.speech import say

ACTION_STYLE = {
    Action.GO: "bold green",
    Action.GO_WITH_CARE: "bold yellow",
    Action.STOP: "bold red",
    Action.CANNOT_TELL: "bold magenta",
}
MAX_UNKNOWN = 3
"""Unknowns shown in full before the rest is counted; a screen holds 24 lines."""


def check_text(report: CheckReport, rig_line: str, show_all: bool = False) -> RenderableType:
    """The whole report in the order it is needed; `show_all` lists the passing checks too."""
    arranged = arrange(report)
    body = _grid()
    for position, cause in enumerate(arranged.causes):
        _add_cause(body, cause, first=position == 0)
        if position == 0:
            _add_next(body, report.decision.next_steps or cause.finding.next_steps)
    if not arranged.causes:
        _add_next(body, report.decision.next_steps)
    _add_unknown(body, arranged.unknown if show_all else arranged.unknown[:MAX_UNKNOWN])
    if show_all:
        _add_ok(body, arranged.ok)
    return Group(_verdict(report, rig_line), Text(), body, Text(), _counts(arranged))


def _grid() -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(min_width=12)
    grid.add_column(ratio=1, overflow="fold")
    return grid


def _verdict(report: CheckReport, rig_line: str) -> RenderableType:
    word = action_word(report.decision.action)
    line = Table.grid(padding=(0, 3))
    line.add_row(
        Text(word, style=ACTION_STYLE[report.decision.action]),
        Text(printable(report.decision.because), style="bold"),
    )
    line.add_row(Text(), Text(printable(rig_line), style="dim"))
    return line


def _label(words: str, style: str = "dim") -> Text:
    return Text(f"  {words}", style=style)


def _add_cause(body: Table, cause: Cause, *, first: bool) -> None:
    finding = cause.finding
    body.add_row(
        _label(say("first cause"), "bold") if first else _label(say("also")),
        Text(printable(f"{finding.title} · {finding.target} · {finding.check}")),
    )
    for quote in finding.evidence:
        for line in quote.text.splitlines() or [""]:
            body.add_row(Text(), Text(printable(f"| {quote.source}: {line}"), style="cyan"))
    body.add_row(Text(), Text(printable(finding.because)))
    if cause.symptoms:
        body.add_row(_label(say("its symptoms")), Text(say("{checks} (folded)", checks=_names(cause.symptoms))))
    if not first:
        _add_next(body, finding.next_steps)


def _names(findings: Iterable[Finding]) -> str:
    return ", ".join(dict.fromkeys(finding.check for finding in findings))


def _add_next(body: Table, steps: Sequence[str]) -> None:
    for position, step in enumerate(steps):
        body.add_row(_label(say("next"), "bold") if position == 0 else Text(), Text(printable(step)))


def _add_unknown(body: Table, findings: Iterable[Finding]) -> None:
    for finding in findings:
        why = f" ({absence_words(finding.absence)})" if finding.absence else ""
        body.add_row(
            _label(say("unknown")), Text(printable(f"{finding.check} · {finding.target}: {finding.because}{why}"))
        )
        for step in finding.next_steps[:1]:
            body.add_row(Text(), Text(printable(step)))


def _add_ok(body: Table, findings: Iterable[Finding]) -> None:
    for finding in findings:
        body.add_row(_label(say("ok")), Text(printable(f"{finding.check} · {finding.target}: {finding.because}")))


def _counts(arranged: Arranged) -> Text:
    num_folded = sum(len(cause.symptoms) for cause in arranged.causes)
    counts = [
        say("problems {count}", count=len(arranged.causes)),
        say("symptoms {count}", count=num_folded),
        say("unknown {count}", count=len(arranged.unknown)),
        say("ok {count}", count=len(arranged.ok)),
    ]
    return Text("  " + " · ".join(counts), style="dim")
