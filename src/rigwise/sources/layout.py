r"""How evidence lies in a folder; the recorder writes it, a recorded source and the simulated GPU read it.

nvml.tsv            gpu (or -), key, return code, value
commands/index.tsv  key, status, exit status, seconds, file name
commands/*.txt      what each command printed
files/PATH          the text of each file
files.tsv           path, status, text: what cannot lie under files/ (absent files, folders, odd paths)
program_output.txt  what programs printed, where somebody handed it over
collected_at.txt    when, UTC, ISO 8601
kernel.log          the kernel log; where it could not be read, a row `kernel log` of commands/index.tsv

Tab-separated; `#` starts a comment line; `\t`, `\n`, `\r` and `\\` stand for the characters they name. The return code
of nvml.tsv may be `hang`, or another status, instead of a number. A return code or value `83|85|91` advances with
each call, and the last one repeats.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

NVML = "nvml.tsv"
COMMANDS = "commands"
COMMAND_INDEX = "commands/index.tsv"
FILES = "files"
FILE_INDEX = "files.tsv"
KERNEL_LOG = "kernel.log"
KERNEL_LOG_KEY = "kernel log"
PROGRAM_OUTPUT = "program_output.txt"
COLLECTED_AT = "collected_at.txt"
HANG = "hang"

_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_PLAIN = {escaped: plain for plain, escaped in _ESCAPES.items()}


def escape(text: str) -> str:
    r"""One cell of a row.

    >>> print(escape("a\tb\\c"))
    a\tb\\c
    """
    return re.sub(r"[\\\t\n\r]", lambda match: _ESCAPES[match[0]], text)


def unescape(cell: str) -> str:
    r"""The text of one cell; a backslash before anything else stands for itself.

    >>> unescape(escape("a\tb\\c")) == "a\tb\\c"
    True
    """
    return re.sub(r"\\[\\tnr]", lambda match: _PLAIN[match[0]], cell)


def read_rows(path: Path, num_cells: int) -> Iterator[list[str]]:
    """The rows of a table with their cells unescaped, short rows filled up; none where there is no file."""
    if not path.is_file():
        return
    for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
        if line.strip() and not line.startswith("#"):
            cells = [unescape(cell) for cell in line.rstrip("\r").split("\t", num_cells - 1)]
            yield cells + [""] * (num_cells - len(cells))


def table(columns: str, rows: Iterable[Sequence[str]]) -> str:
    """A table's text: a comment naming its columns, then the rows."""
    lines = ["# " + columns, *("\t".join(escape(cell) for cell in row) for row in rows)]
    return "\n".join(lines) + "\n"
