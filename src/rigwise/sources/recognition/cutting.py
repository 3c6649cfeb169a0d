"""Gives each line of a text to the kind of evidence it belongs to."""

import re
from collections.abc import Iterator, Sequence

from rigwise.knowledge.kinds_of_evidence import KERNEL_LOG
from rigwise.knowledge.signatures import is_advice
from rigwise.knowledge.source_code import Block, in_a_block, is_source, source_blocks
from rigwise.sources.recognition.cleaning import cleaned
from rigwise.sources.recognition.patterns import Told, any_start, kind_at, told
from rigwise.sources.recognition.pieces import PROGRAM_OUTPUT, Cut, Pieces, pieces
from rigwise.sources.recognition.sections import Section, sections

_FAILED = re.compile(
    r"[^\n]*(?:command not found|No such file or directory|[Pp]ermission denied|Operation not permitted|cannot access"
    r"|is not recognized as|Traceback \(most recent)"
)
_BLANK_LINES = re.compile(r"(?:[ \t]*+\n)*+")


def recognise(text: str, name: str = "") -> Pieces:
    r"""The pieces of evidence in `text`, without the prompts, quotation marks and fences around them.

    `name` is the file's, for what can only be told by it: `proc/pressure/io`.

    >>> recognise("$ nvidia-smi -q -x\n<nvidia_smi_log><gpu/></nvidia_smi_log>\n$ ").commands["nvidia-smi -q -x"]
    '<nvidia_smi_log><gpu/></nvidia_smi_log>'
    >>> recognise("see below\n```\n[  12.000001] NVRM: Xid (PCI:0000:41:00): 79\n```\n").kernel_log
    '[  12.000001] NVRM: Xid (PCI:0000:41:00): 79'
    """
    return pieces(cuts(text, name))


def cuts(text: str, name: str = "") -> Iterator[Cut]:
    """Every line of the text in one cut, except boundaries and empty lines between cuts."""
    text, by_name = cleaned(text), _named(name)
    code = source_blocks(text)
    for section in sections(text):
        if section.told is None and not section.heading:
            section = section._replace(told=by_name)
        yield from _cut_section(text, section, code)


def _cut_section(text: str, section: Section, code: Sequence[Block]) -> Iterator[Cut]:
    blank = _BLANK_LINES.match(text, section.start, section.end)
    start, above = blank.end() if blank else section.start, section.heading
    hinted = _below_its_command(text, section, start)
    if hinted is not None:
        yield hinted[0]
        start, above = hinted[1], ""
    while found := _next_start(text, start, section.end, code):
        yield from _left_over(text[start : found.start()], above)
        kind = kind_at(text, found.start(), section.end)
        whole = kind.block.match(text, found.start(), section.end)
        end = max(whole.end() if whole else 0, found.end())
        yield Cut(kind.kind.key, text[found.start() : end].rstrip())
        start, above = end, ""
    yield from _left_over(text[start : section.end], above)


def _next_start(text: str, start: int, end: int, code: Sequence[Block]) -> re.Match[str] | None:
    """Where the next kind starts outside of source code, in which tests keep the very lines that programs read."""
    while found := any_start().search(text, start, end):
        if not in_a_block(code, found.end()) and not _is_quoted_by_a_program(text, found, end):
            return found
        line_end = text.find("\n", found.end(), end)
        start = end if line_end < 0 else line_end + 1
    return None


def _is_quoted_by_a_program(text: str, found: re.Match[str], end: int) -> bool:
    """Whether a line of a kernel log stands in a program's string, or behind words such as `for example`."""
    if kind_at(text, found.start(), end).kind.key != KERNEL_LOG:
        return False
    return is_source(text, found.end()) or is_advice(text[found.start() : found.end()], found.end() - found.start())


def _below_its_command(text: str, section: Section, start: int) -> tuple[Cut, int] | None:
    """What only the command or path above tells, and its end; None where its content tells it, or is an error."""
    started = any_start().match(text, start, section.end)
    if _FAILED.match(text, start, section.end) or (started and kind_at(text, start, section.end) is not section.told):
        return None
    if section.told is not None:
        kind, own = section.told.kind, section.told.below_command.match(text, start, section.end)
        shown = re.search(kind.with_command, section.command) if kind.with_command else None
        key, end, command = kind.key, own.end() if own else start, shown[0] if shown else ""
        if kind.hinted and end == start and text[start : section.end].strip():
            return None  # something else stands first, such as a warning: the command stays with it
    else:
        key, end, command = section.path, section.end, ""
    content = "\n".join(filter(None, (command, text[start:end].rstrip())))
    return (Cut(key, content), end) if key and content else None


def _left_over(text: str, above: str) -> Iterator[Cut]:
    """What programs printed, with the command above it."""
    if text.strip():
        yield Cut(PROGRAM_OUTPUT, "\n".join(filter(None, (above, text.strip("\n").rstrip()))))


def _named(name: str) -> Told | None:
    """The kind whose path a file name ends with, whatever separates its parts: `proc_pressure_io.txt`."""
    words = re.sub(r"\W|_", " ", re.sub(r"\.(?:txt|log|out)$", "", name)).split()
    files = [entry for entry in told() if entry.kind.is_file]
    return next((file for file in files if words[-3:] == re.split(r"\W|_", file.kind.key.strip("/"))[-3:]), None)
