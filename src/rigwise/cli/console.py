"""Where text goes: results to standard output, everything else to standard error."""

from functools import cache
from types import TracebackType
from typing import Self

from rich.console import Console
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

from rigwise.errors import RigwiseError
from rigwise.speech import say


@cache
def on_paper() -> Console:
    """Standard output: results only, so that they can be piped."""
    return Console(highlight=False, soft_wrap=False)


@cache
def on_screen() -> Console:
    """Standard error: progress, notices and errors."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def show_error(error: RigwiseError) -> None:
    """What, why, next, on standard error."""
    screen = on_screen()
    for label, sentence, style in (
        (say("error:"), error.what, "bold red"),
        (say("why:"), error.why, "bold"),
        (say("next:"), error.next_step, "bold"),
    ):
        for line_number, line in enumerate(sentence.splitlines()):
            head = label if line_number == 0 else ""
            screen.print(Text.assemble((f"{head:<6} ", style), line))


class ScreenProgress:
    """A progress bar on a terminal; elsewhere one plain line per job, or nothing when `only_on_terminal`."""

    def __init__(self, *, only_on_terminal: bool = False) -> None:
        self._silent_elsewhere = only_on_terminal
        self._console = on_screen()
        self._bars = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
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
