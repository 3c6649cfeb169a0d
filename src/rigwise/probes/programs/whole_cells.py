"""Tables of two columns whose second one was broken over several rows, as dcgmi prints them, with whole cells."""

import re
from collections.abc import Iterator

_ROW = re.compile(r"^\|(?P<name>[^|\n]{10,40})\| (?P<cell>[^|\n]{1,200}?)[ \t]*(?:\||$)")
FULL_CHARACTERS = 45
"""Of a cell of `dcgmi diag`, which goes on in the next row even inside a word; others break between words."""


def whole_cells(text: str) -> str:
    r"""The text with every row that only goes on joined to the one above it; a text without such as it is.

    >>> rows = ("| Warning     | GPU 0 Thermal violations totaling 13.3 second  |",
    ...         "|             | s started at 9.7 seconds into the test for GP  |", "|             | U 0 |")
    >>> whole_cells("\n".join(rows))
    '| Warning     | GPU 0 Thermal violations totaling 13.3 seconds started at 9.7 seconds into the test for GPU 0'
    """
    return "\n".join(_joined(text)) if "\n|  " in text else text


def _joined(text: str) -> Iterator[str]:
    whole, last = "", 0
    for line in text.split("\n"):
        row = _ROW.match(line)
        goes_on = row is not None and whole and not row["name"].strip()
        if whole and not goes_on:
            yield whole
            whole = ""
        if row is None:
            yield line
            continue
        joint = "" if last == FULL_CHARACTERS else " "
        whole = f"{whole}{joint}{row['cell']}" if goes_on else f"|{row['name']}| {row['cell']}"
        last = len(row["cell"])
    if whole:
        yield whole
