"""A whole run for the terminal: what it was, the trials side by side, what to take, what to know, what comes next."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rigwise.records.run import PictureSummary, RunRecord
from rigwise.report.text import comparison_table, printable
from rigwise.speech import say


def run_text(run: RunRecord, page: str) -> RenderableType:
    """The comparison `rigwise train` prints; `page` is the path of the HTML report."""
    lines = Table.grid(padding=(0, 2))
    lines.add_column(min_width=14)
    lines.add_column(ratio=1, overflow="fold")
    for label, sentence, style in _lines(run, page):
        lines.add_row(Text(f"  {label}", style="dim"), Text(printable(sentence), style=style))
    return Group(Text(_headline(run), style="bold"), Text(), comparison_table(run), Text(), lines)


def _headline(run: RunRecord) -> str:
    parts = [_pictures(run.pictures)] if run.pictures else []
    parts.append(say("{model} ({weights})", model=run.model, weights=run.weights))
    parts += run.rig_lines[:1]
    return printable(" · ".join(parts))


def _pictures(pictures: PictureSummary) -> str:
    count = sum(sum(split.values()) for split in pictures.counts.values())
    return say("{classes} classes · {count} pictures", classes=len(pictures.classes), count=f"{count:,}")


def _lines(run: RunRecord, page: str) -> Iterator[tuple[str, str, str]]:
    if not run.finished:
        yield say("interrupted"), say("the run did not reach its end; this is what was measured"), "bold yellow"
    if run.recommendation:
        yield say("take"), run.recommendation.because, "bold"
    yield from ((say("before you trust"), note, "") for note in (run.pictures.notes if run.pictures else ()))
    if run.pictures and run.pictures.bad:
        first = run.pictures.bad[0]
        count = len(run.pictures.bad)
        words = say("{count} skipped, first {path}: {why}", count=count, path=first.path, why=first.reason)
        yield say("bad files"), words, ""
    if run.repeat_note:
        yield say("repeat"), run.repeat_note, "bold"
    yield say("report"), page, ""
    yield say("again tomorrow"), run.repeat_command, ""
    if run.recommendation:
        yield say("next"), run.recommendation.next_step, "bold"
