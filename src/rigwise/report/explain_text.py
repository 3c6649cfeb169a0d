"""An explanation for the terminal: what it means first, then who is to blame, how sure, and what to do."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rigwise.records.explanation import ExplainReport, Explanation
from rigwise.report.text import indented, labelled_lines, next_line, printable
from rigwise.speech import say

MAX_QUOTED_LINES = 4


def explain_text(report: ExplainReport) -> RenderableType:
    """Every meaning in the order given; several meanings of one code stand side by side, none before the others."""
    parts: list[RenderableType] = []
    for one in report.explanations:
        parts += [Text(printable(one.subject), style="bold"), _body(one), Text()]
    commands = [step for one in report.explanations for step in one.next_steps]
    return Group(*parts, *(next_line(command) for command in commands[:1]))


def _body(one: Explanation) -> Table:
    body = labelled_lines()
    for quote in one.evidence:
        body.add_row(Text(), _quoted(quote.source, quote.text))
    _add(body, say("means"), one.meaning)
    _add(body, say("blame"), one.blame or say("nobody can say from this alone"))
    _add(body, say("how sure"), one.certainty)
    _add(body, say("to be surer"), one.surer)
    _add(body, say("follows from"), one.follows)
    _add(body, say("what to do"), one.fix)
    for command in one.next_steps:
        _add(body, "", command)
    _add(body, say("check"), one.check)
    return body


def _quoted(source: str, text: str) -> RenderableType:
    """What was recognised, word for word, under where it was read."""
    lines = text.splitlines() or [""]
    block = Table.grid(padding=(0, 1))
    for line in [f"{source}: {lines[0]}"] if len(lines) == 1 else [f"{source}:", *lines[:MAX_QUOTED_LINES]]:
        block.add_row(Text("|", style="cyan"), Text(printable(line), style="cyan"))
    return block


def _add(body: Table, label: str, line: str) -> None:
    if line:
        body.add_row(Text(f"  {label}", style="dim"), Text(printable(line)))


def unexplained_text(report: ExplainReport) -> RenderableType:
    """Nothing was recognised: what is similar, and what else to try."""
    if report.beyond:
        newer = say("A newer driver may report it: https://docs.nvidia.com/deploy/xid-errors/")
        return Group(Text(report.beyond, style="bold"), indented(newer), Text(), next_line("sudo dmesg | grep NVRM"))
    parts: list[RenderableType] = [Text(say("nothing in it is an error that rigwise knows"), style="bold")]
    if report.near:
        parts.append(indented(say("similar:"), style="dim"))
        parts += [indented(f"  {name}") for name in report.near]
    parts.append(indented(say("give the whole text, with the first error in it; a code as: xid 79, 0x44, 802")))
    return Group(*parts, Text(), next_line("rigwise check"))
