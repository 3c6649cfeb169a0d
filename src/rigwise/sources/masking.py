"""Replaces what identifies a person or a machine by pseudonyms, so that a recording can be shown to strangers.

Equal things get equal pseudonyms within one recording, so that what belongs together still does; another recording
gets others. Shapes stay, and numbers that probes read are never touched.
"""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import PurePosixPath

from rigwise.sources.masking_rules import PLACES, RULES, Rule
from rigwise.sources.pseudonyms import ORDINARY_NAMES, Identity, this_identity
from rigwise.speech import say

__all__ = ["Identity", "learned_names", "mask", "mask_file", "this_identity"]

IDENTIFYING_FILES = frozenset(
    ("hostname", "machine-id", "boot_id", "serial", "product_serial", "product_uuid", "board_serial", "chassis_serial")
)
"""Files that hold nothing but what identifies a machine."""
LONG_NAME = 4
"""A name of fewer letters is also a part of ordinary words: it is hidden only where it stands alone."""


def mask(text: str, identity: Identity, tally: Counter[str] | None = None) -> str:
    """`text` without secrets, names, serial numbers, UUIDs and addresses; `tally` counts what was replaced.

    >>> mask("Serial Number : 1650124014249 at 10.0.4.7, driver 12.570.124.06", Identity((), "salt"))
    'Serial Number : 1298026979900 at 198.18.47.172, driver 12.570.124.06'
    """
    counted = Counter[str]() if tally is None else tally
    for rule in RULES:
        text = _masked_by(rule, text, identity, counted)
    for name in identity.names:
        text = _without_name(text, name, identity, counted)
    return text


def mask_file(path: str, text: str, identity: Identity, tally: Counter[str]) -> str:
    """The masked text of a file; of one that holds nothing but an identity, its pseudonym."""
    if PurePosixPath(path).name not in IDENTIFYING_FILES or not text.strip():
        return mask(text, identity, tally)
    tally[say("serial numbers")] += 1
    return identity.pseudonym(text.strip(), min(len(text.strip()), 64)) + "\n"


def learned_names(texts: Iterable[str]) -> set[str]:
    """User and host names that stand where only names stand; they are hidden everywhere else too."""
    found = {match["name"] for text in texts for rule in PLACES for match in rule.pattern.finditer(text)}
    return {name for name in found | {name.partition(".")[0] for name in found} if _is_telling(name)}


def _is_telling(name: str) -> bool:
    """Whether a name identifies somebody and is no ordinary word or number."""
    return len(name) > 2 and not name.isdigit() and name.lower() not in ORDINARY_NAMES


def _masked_by(rule: Rule, text: str, identity: Identity, tally: Counter[str]) -> str:
    def replaced(match: re.Match[str]) -> str:
        new = rule.replace(identity, match)
        tally[rule.what] += new != match[0]
        return new

    return rule.pattern.sub(replaced, text)


def _without_name(text: str, name: str, identity: Identity, tally: Counter[str]) -> str:
    """A name as a word, with the domain that follows it; a long one also beside `-`, `_` and `.`."""
    if name not in text or not _is_telling(name):
        return text
    before, after = (r"(?<![^\W_])", r"(?![^\W_])") if len(name) >= LONG_NAME else (r"(?<![\w.-])", r"(?![\w-])")
    domain = r"(?:\.(?!py\b)[A-Za-z][\w-]*)*"
    text, number = re.subn(before + re.escape(name) + domain + after, identity.name(name), text)
    tally[say("user and host names")] += number
    return text
