"""What the terminal's pages share, and the trials side by side. Colour repeats words, it never replaces them."""

import unicodedata

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from rigwise.records.run import RunRecord
from rigwise.report.comparison import Column, Comparison, compare
from rigwise.speech import HIDDEN_CATEGORIES, say

LABEL_WIDTH = 14
"""Columns of the labels on the left, with two of indent."""
SPEED_COLUMNS = 4
"""Batch, step mean, p95 and img/s lead; on a narrow screen the accuracy follows them, the rest goes below."""

MAX_NAME_WIDTH = 24
"""A longer trial name is folded rather than pushing the numbers off the screen."""


def printable(text: str) -> str:
    """`text` without characters that would act on the terminal or reorder a line; each becomes a visible mark.

    >>> printable("a" + chr(27) + "[31mb")
    'a\ufffd[31mb'
    """
    return "".join(
        "\N{REPLACEMENT CHARACTER}" if unicodedata.category(character) in HIDDEN_CATEGORIES else character
        for character in text
    )


def indented(text: str, style: str = "") -> RenderableType:
    """A line two columns in, also where it is broken."""
    return Padding(Text(printable(text), style=style), (0, 0, 0, 2))


def labelled_lines() -> Table:
    """An empty grid of labels and what belongs to them."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(min_width=LABEL_WIDTH)
    grid.add_column(ratio=1, overflow="fold")
    return grid


def next_line(command: str) -> Text:
    """The one next command on a line of its own, never broken, so that it can be copied."""
    return Text.assemble("  ", (say("next"), "bold"), "  ", printable(command), no_wrap=True, overflow="ignore")


def comparison_table(run: RunRecord) -> "ComparisonTable":
    """The trials side by side; several tables below each other where the screen is too narrow for one."""
    return ComparisonTable(compare(run))


class ComparisonTable:
    """Draws a comparison as wide as the screen allows; `>` marks the trial to take."""

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if not self.comparison.rows:
            yield Text("  " + say("no trial was run"))
            return
        for position, columns in enumerate(self._parts(console, options)):
            if position > 0:
                yield Text()
            yield self._table(columns)
        yield from self._remarks()

    def _parts(self, console: Console, options: ConsoleOptions) -> list[tuple[Column, ...]]:
        """All columns, divided so that each part fits the screen; a part has at least one column."""

        def fits(columns: tuple[Column, ...]) -> bool:
            unlimited = options.update(width=1000)
            return Measurement.get(console, unlimited, self._table(columns)).maximum <= options.max_width

        columns = self.comparison.columns
        if fits(columns):
            return [columns]
        lead, rest = columns[:SPEED_COLUMNS], columns[SPEED_COLUMNS:]
        parts: list[tuple[Column, ...]] = [()]
        for column in (*lead, *rest[-1:], *rest[:-1]):
            if parts[-1] and not fits((*parts[-1], column)):
                parts.append(())
            parts[-1] += (column,)
        return parts

    def _table(self, columns: tuple[Column, ...]) -> Table:
        table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 1), header_style="dim")
        longest = max((len(row.trial) for row in self.comparison.rows if row.not_run is None), default=0)
        table.add_column("  " + say("trial"), overflow="fold", min_width=min(longest + 2, MAX_NAME_WIDTH))
        for column in columns:
            table.add_column(f"{column.head}\n{column.unit}", justify="right")
        for index, row in enumerate(self.comparison.rows):
            if row.not_run is None:
                cells = [Text(column.cells[index] or "-") for column in columns]
                mark = "> " if row.recommended else "  "
                table.add_row(Text(mark + printable(row.trial)), *cells, style="bold" if row.recommended else "")
        return table

    def _remarks(self) -> RenderResult:
        """What does not fit a column: notes, and why a trial did not run, once for all that share the reason."""
        not_run: dict[str, list[str]] = {}
        for row in self.comparison.rows:
            if row.not_run is not None:
                not_run.setdefault(row.not_run, []).append(row.trial)
            elif row.note:
                yield indented(f"{row.trial}: {row.note}", style="dim")
        for why, trials in not_run.items():
            yield indented(say("{trials}: not run: {why}", trials=", ".join(trials), why=why), style="yellow")
        if self.comparison.not_measured:
            heads = ", ".join(self.comparison.not_measured)
            yield indented(say("not measured in any trial: {columns}", columns=heads), style="dim")
