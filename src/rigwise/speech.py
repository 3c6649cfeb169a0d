"""The one place every user-facing sentence passes through.

`say("GPU {index} is lost", index=1)` looks the English sentence up in the catalogue of the user's language and
fills it in. The first argument is always a literal (a test checks it), so that `xgettext --keyword=say` finds
every sentence. Without a catalogue the English sentence is used as it stands.
"""

import gettext
from functools import cache
from pathlib import Path

LOCALE_FOLDER = Path(__file__).parent / "locale"


@cache
def _catalogue() -> gettext.NullTranslations:
    return gettext.translation("rigwise", LOCALE_FOLDER, fallback=True)


def say(sentence: str, /, **values: object) -> str:
    """The sentence in the user's language, with its `{named}` values filled in."""
    translated = _catalogue().gettext(sentence) if sentence else ""
    return translated.format(**values) if values else translated
