"""File names as text that can be shown, logged and put into JSON, whatever bytes they are made of."""

import os
import unicodedata

HIDDEN_CATEGORIES = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Unicode categories that move the cursor, reorder or break a line, or are no character at all."""


def printable(path: str | os.PathLike[str]) -> str:
    r"""`path` on one line: bytes that are not UTF-8 and invisible characters as backslash escapes.

    >>> printable("caf\u00e9\n\udcff.jpg")
    'café\\n\\xff.jpg'
    """
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return "".join(_escaped(char) if unicodedata.category(char) in HIDDEN_CATEGORIES else char for char in text)


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
