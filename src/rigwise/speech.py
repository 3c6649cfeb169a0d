"""The one place every user-facing sentence passes through.

`say("GPU {index} is lost", index=1)` looks the English sentence up in the catalogue of the user's language and
fills it in. The first argument is always a literal (a test checks it), so that `xgettext --keyword=say` finds
every sentence. Without a catalogue the English sentence is used as it stands. Paths among the values are made
printable, whatever bytes they are made of.
"""

import gettext
import os
import unicodedata
from functools import cache
from pathlib import Path

LOCALE_FOLDER = Path(__file__).parent / "locale"

HIDDEN_CATEGORIES = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Unicode categories that move the cursor, reorder or break a line, or are no character at all."""


@cache
def _catalogue() -> gettext.NullTranslations:
    return gettext.translation("rigwise", LOCALE_FOLDER, fallback=True)


def say(sentence: str, /, **values: object) -> str:
    """The sentence in the user's language, with its `{named}` values filled in."""
    translated = _catalogue().gettext(sentence) if sentence else ""
    if not values:
        return translated
    shown = {name: printable(value) if isinstance(value, os.PathLike) else value for name, value in values.items()}
    return translated.format(**shown)


def printable(path: str | os.PathLike[str]) -> str:
    r"""A file name on one line: bytes that are not UTF-8 and invisible characters as backslash escapes.

    >>> printable("caf\u00e9\n\udcff.jpg")
    'café\\n\\xff.jpg'
    """
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return "".join(_escaped(char) if unicodedata.category(char) in HIDDEN_CATEGORIES else char for char in text)


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
