"""Ceilings and levers as people read them: the verdict in one line, stages and levers as tables."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from rigwise.records.ceilings import CeilingsReport, LeverResult, Rate, part_words, stage_words
from rigwise.report.text import indented, printable
from rigwise.speech import say
from rigwise.units import duration, percent, share, significant


class LeverRow(NamedTuple):
    """One line of the table of levers."""

    name: str
    before: str
    after: str
    kept: str
    because: str
    is_kept: bool


def lever_rows(report: CeilingsReport) -> tuple[LeverRow, ...]:
    """Every lever: those that were tried in their order, then those that could not be."""
    ordered = sorted(report.levers, key=lambda lever: bool(lever.why_not))
    return tuple(_row(lever) for lever in ordered)


def _row(lever: LeverResult) -> LeverRow:
    if lever.before is None or lever.after is None:
        return LeverRow(lever.name, "", "", say("not tried"), lever.why_not, False)
    kept = say("kept") if lever.kept else say("no")
    because = lever.because
    if lever.kept and lever.break_even_steps:
        because = say("{because}; pays after {steps} steps", because=because, steps=f"{lever.break_even_steps:,}")
    return LeverRow(lever.name, significant(lever.before), significant(lever.after), kept, because, lever.kept)


def lever_lines(report: CeilingsReport) -> Iterator[RenderableType]:
    """The levers that were tried as a table, rates in samples/s; below it why the others were not."""
    rows = lever_rows(report)
    tried = [row for row in rows if row.before]
    if tried:
        yield _lever_table(tried)
    for row in rows:
        if not row.before:
            yield indented(say("{lever} not tried: {why}", lever=row.name, why=row.because), style="dim")


def _lever_table(rows: Sequence[LeverRow]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 1), header_style="dim")
    table.add_column("  " + say("lever"), overflow="fold")
    for head in (say("before"), say("after")):
        table.add_column(f"{head}\n{say('samples/s')}", justify="right")
    table.add_column(say("kept?"))
    table.add_column("", overflow="fold")
    for row in rows:
        cells = (row.before, row.after, row.kept, printable(row.because))
        table.add_row(Text("  " + printable(row.name)), *map(Text, cells), style="bold" if row.is_kept else "")
    return table


def ceilings_lines(report: CeilingsReport) -> Iterator[tuple[str, str, str]]:
    """Label, sentence and style of each line about what bounds a loop."""
    yield say("speed"), report.verdict, "bold yellow" if report.refused else "bold"
    for name, rate, why_not in stage_rows(report):
        yield "", say("{stage}: {rate}", stage=name, rate=rate or why_not), ""
    if report.final:
        rate = significant(report.final.median)
        yield say("worth"), say("{rate} samples/s with {levers}", rate=rate, levers="; ".join(report.recipe)), ""


def stage_rows(report: CeilingsReport) -> tuple[tuple[str, str, str], ...]:
    """Stage, its rate with interval, and why there is none."""
    stages = tuple(
        (say("{stage} alone", stage=stage_words(one.name)), rate_words(one.rate), one.why_not)
        for one in report.ceilings
    )
    return (*stages, (say("the loop as it runs"), rate_words(report.actual), ""))


def rate_words(rate: Rate | None) -> str:
    """Median and interval, samples/s; "" where nothing was measured."""
    if rate is None:
        return ""
    return say(
        "{median} samples/s ({low}-{high}, {confidence})",
        median=significant(rate.median),
        low=significant(rate.low),
        high=significant(rate.high),
        confidence=percent(rate.confidence_ratio),
    )


class PartRow(NamedTuple):
    """One line of where a step goes."""

    name: str
    time: str
    share: str
    bar_percent: float
    """Length of its bar."""


def part_rows(report: CeilingsReport) -> tuple[PartRow, ...]:
    """Every part of a step, as the report has them."""
    return tuple(
        PartRow(part_words(one.name), duration(one.seconds), share(one.share_ratio), round(100 * one.share_ratio, 1))
        for one in report.parts
    )


def ceilings_parts(report: CeilingsReport) -> dict[str, Any]:
    """What the section of the page shows."""
    return {
        "ceilings": report,
        "stage_rows": stage_rows(report),
        "part_rows": part_rows(report),
        "lever_rows": lever_rows(report),
    }
