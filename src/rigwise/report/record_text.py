"""What a recording holds, in words: for the terminal, and for the PREVIEW.txt in it."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from rigwise.records.recording import RecordReport
from rigwise.report.causes import action_word
from rigwise.report.text import labelled_lines, next_line, printable
from rigwise.speech import say

MAX_FILES_SHOWN = 8


def preview_text(report: RecordReport) -> str:
    """The whole content in plain lines; it holds nothing that is not in the other files."""
    lines = [
        say("A recording of a machine, made on {at}.", at=report.recorded_at),
        "",
        f"{action_word(report.decision)}: {printable(report.because)}",
        "",
        *_masking(report),
        "",
        say("It holds what rigwise read, and nothing else of the machine:"),
        *(f"  {line}" for line in _files(report)),
        "",
        say("report.json is the full check of these files; rigwise check --from FILE makes it again."),
    ]
    return "\n".join(lines) + "\n"


def record_text(report: RecordReport) -> RenderableType:
    """Where the recording is, what it holds, and the command that reads it back."""
    body = labelled_lines()
    rows = (
        (say("decision"), [f"{action_word(report.decision)} · {report.because}"]),
        (say("masked") if report.masked else say("not masked"), list(_masking(report))),
        (say("holds"), _some(list(_files(report)))),
    )
    for label, lines in rows:
        for position, line in enumerate(lines):
            body.add_row(Text(f"  {label}" if position == 0 else "", style="dim"), Text(printable(line)))
    head = Text.assemble((printable(report.path), "bold"), f"   {size(report.size_bytes)}")
    look = Text("  " + say("Read PREVIEW.txt in it before you send it."), style="dim")
    return Group(head, Text(), body, Text(), look, Text(), next_line(report.next_command))


def size(num_bytes: int) -> str:
    """A file's size.

    >>> size(812), size(20480), size(3 * 10**6)
    ('812 bytes', '20 kB', '3.0 MB')
    """
    if num_bytes < 1000:
        return say("{count} bytes", count=num_bytes)
    return f"{num_bytes / 1e6:.1f} MB" if num_bytes >= 10**6 else f"{num_bytes / 1e3:.0f} kB"


def _masking(report: RecordReport) -> Iterator[str]:
    if not report.masked:
        yield say("Nothing was masked: names, serial numbers, addresses and secrets stand as they were read.")
        return
    yield say("Equal things have equal pseudonyms; another recording has others.")
    counts = [f"{what} {number}" for what, number in sorted(report.replaced.items())]
    yield say("Replaced: {counts}.", counts=" · ".join(counts)) if counts else say("Nothing had to be replaced.")


def _files(report: RecordReport) -> Iterator[str]:
    for file in report.files:
        end = ", " + say("shortened") if file.trimmed else ""
        yield f"{printable(file.path)} ({size(file.size_bytes)}{end})"


def _some(lines: list[str]) -> list[str]:
    """The largest number of lines that fits on a screen, and how many more there are."""
    if len(lines) <= MAX_FILES_SHOWN:
        return lines
    return [*lines[: MAX_FILES_SHOWN - 1], say("{count} more files", count=len(lines) - MAX_FILES_SHOWN + 1)]
