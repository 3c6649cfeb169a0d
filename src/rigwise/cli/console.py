"""Where text goes: results to standard output, everything else to standard error."""

import os
import sys
from functools import cache
from types import TracebackType
from typing import NoReturn, Self

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from rigwise.errors import CannotWrite, RigwiseError
from rigwise.speech import say

FEWEST_COLUMNS = 20
"""A terminal that claims to be narrower is not believed: with `COLUMNS=0` Rich would print nothing at all."""


class PlainConsole(Console):
    """Rich's console for texts that hold file names: nothing in them is markup."""

    def __init__(self, *, stderr: bool) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=stderr)
        if self.width < FEWEST_COLUMNS:
            self.width = FEWEST_COLUMNS

    def on_broken_pipe(self) -> NoReturn:
        """Rich calls this where it caught a BrokenPipeError; its own answer would be to exit with 1."""
        raise


@cache
def on_paper() -> PlainConsole:
    """Standard output: results only, so that they can be piped."""
    return PlainConsole(stderr=False)


@cache
def on_screen() -> PlainConsole:
    """Standard error: progress, notices and errors."""
    return PlainConsole(stderr=True)


def put_out(result: RenderableType) -> None:
    """Print the result of a command. A reader that has seen enough, such as `head`, is no error.

    Raises:
        CannotWrite: standard output refused it, say on a full disk.
    """
    try:
        on_paper().print(result, crop=False, soft_wrap=isinstance(result, str))
        on_paper().file.flush()
    except OSError as error:
        # What Python still holds goes nowhere: it would try again at exit, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return
        raise CannotWrite(
            say("cannot write to standard output"),
            error.strerror or str(error),
            say("make room where it is written to (df -h), then run the same command again"),
        ) from error


def show_error(error: RigwiseError) -> None:
    """What, why, next, on standard error."""
    from rigwise.report.text import printable

    screen = on_screen()
    for label, sentence, style in (
        (say("error:"), error.what, "bold red"),
        (say("why:"), error.why, "bold"),
        (say("next:"), error.next_step, "bold"),
    ):
        for line_number, line in enumerate(sentence.splitlines()):
            head = label if line_number == 0 else ""
            screen.print(Text.assemble((f"{head:<6} ", style), printable(line)))


class ScreenProgress:
    """A progress bar on a terminal; elsewhere one plain line per job, or nothing when `only_on_terminal`."""

    def __init__(self, *, only_on_terminal: bool = False) -> None:
        self._silent_elsewhere = only_on_terminal
        self._console = on_screen()
        self._bars = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
        )
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._console.is_terminal:  # elsewhere, stopping prints an empty line
            self._bars.stop()

    def begin(self, label: str, total: int | None) -> None:
        """Show that a job of `total` parts began."""
        self.end()
        if self._console.is_terminal:
            self._task = self._bars.add_task(label, total=total)
        elif not self._silent_elsewhere:
            self._console.print(label)

    def advance(self) -> None:
        """One more part is done."""
        if self._task is not None:
            self._bars.advance(self._task)

    def update(self, done: int, total: int) -> None:
        """`done` of `total` parts are done."""
        if self._task is not None:
            self._bars.update(self._task, completed=done, total=total)

    def end(self) -> None:
        """The job is over."""
        if self._task is not None:
            self._bars.remove_task(self._task)
            self._task = None

    def tell(self, sentence: str) -> None:
        """Keep a sentence on the screen, above the bar."""
        self._console.print(sentence)
