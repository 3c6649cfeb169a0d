"""An audit for the terminal: the answer, what is suspicious with its first case, and where to decide."""

from collections.abc import Iterator
from pathlib import PurePath

from rich.console import Group, RenderableType
from rich.text import Text

from rigwise.records.audit import AuditReport
from rigwise.report.audit_words import findings, label_words, verdict_words
from rigwise.report.text import indented, labelled_lines, next_line, printable
from rigwise.speech import say
from rigwise.units import significant


def audit_text(report: AuditReport, page: str) -> RenderableType:
    """What `rigwise audit` prints; `page` is the path of the page where a person decides."""
    word = say("LOOK") if report.needs_a_human else say("GO")
    style = "bold yellow" if report.needs_a_human else "bold green"
    lines = labelled_lines()
    for label, sentence in _lines(report, page):
        lines.add_row(Text(f"  {label}", style="dim"), Text(printable(sentence)))
    opening = (Text(f"{word}   {verdict_words(report)}", style=style), Text(), indented(_subject(report), style="bold"))
    command = say("rigwise train DATA") if not report.needs_a_human else say("rigwise train DATA --verdicts FILE")
    return Group(*opening, lines, Text(), next_line(command))


def _subject(report: AuditReport) -> str:
    return say(
        "{name} · {classes} classes · {count} pictures · {rate} pictures/s",
        name=PurePath(report.root).name or report.root,
        classes=len(report.classes),
        count=f"{report.num_files:,}",
        rate=significant(report.images_per_second),
    )


def _lines(report: AuditReport, page: str) -> Iterator[tuple[str, str]]:
    yield from findings(report)
    yield from ((say("note"), note) for note in report.notes)
    yield say("judged"), label_words(report)
    if report.left_out:
        count = len(report.left_out)
        yield say("left out"), say("{count}, as a person said, first {path}", count=count, path=report.left_out[0])
    yield say("page"), page
    if report.needs_a_human:
        yield "", say("answer on the page, export the answers, and give the file to the next command")
