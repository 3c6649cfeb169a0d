"""Error texts by which faults are told: one table per family under knowledge/signatures, validated once."""

import datetime
import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from statistics import median
from typing import Literal

import msgspec

from rigwise.knowledge.check_catalogue import check_catalogue
from rigwise.knowledge.source_code import in_a_block, is_source, source_blocks
from rigwise.records.finding import Severity
from rigwise.speech import say
from rigwise.units import percent

PLACES = ("program", "kernel")
BLAMES = ("application", "framework", "driver", "hardware", "link", "power", "environment", "system")
CERTAINTIES = ("certain", "likely", "possible")

_ADVICE = re.compile(
    r"\b(?:if (?:you|your|the|this|it)|when you|in case|to avoid|to prevent|should you|e\.g\.|such as|for example"
    r"|fix(?:es|ed)?)\b",
    re.IGNORECASE,
)
"""What stands before an error text that is only spoken of: in a manual, a hint or a list of changes."""
_ADVICE_REACH = 160
_SENTENCE_END = re.compile(r"[.;!?]\s|\n\s*\n|\n\S*\d\d:\d\d")
"""Also where a line of a log begins with a time of day."""
_NOT_LITERAL = re.compile(r"\\.|\[[^\]]*\][*+?]?|\{[^}]*\}|[^()][?*]|\([^()]*\)[*?]?")
_LITERAL = re.compile(r"\w{3,}")
_NO_DIGITS = str.maketrans("0123456789", " " * 10)
FEWEST_STEPS = 3
"""Our choice: the first step alone always waits, for the loader's workers start."""
FEW_CHARACTERS = 2**20
"""Of longer different lines than that, only the different words are kept."""
MANY_CHARACTERS = 3 * 2**20
"""Of more different words than any log has, the first and the last are kept."""
LONG_WORD = 1000
"""Characters; longer than any symbol that a linker misses."""


class Recognised(msgspec.Struct, frozen=True):
    """Where a text tells of a fault, and what it names."""

    start: int
    end: int
    values: dict[str, str]
    """By the names of the pattern's groups."""


class Signature(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One error text, what it means and what to do."""

    id: str = ""
    check: str
    """The check whose fault it is evidence for."""
    patterns: tuple[str, ...]
    """Regular expressions, of which one suffices; a space stands for any white space, for terminals break lines."""
    unless: str = ""
    """Words beside which it is harmless: the program at work is another one, which does not use what failed."""
    where: str = "program"
    """`program` output or `kernel` log."""
    sample: str
    """A real text that it recognises, and that no other signature does."""
    variants: tuple[str, ...] = ()
    """The same text in other versions and surroundings."""
    meaning: str
    """May use what the patterns' named groups find: `{found}`."""
    blame: str
    severity: Severity | None = None
    """Where the text alone tells of less than the check's fault can be."""
    certainty: str
    """How sure the text alone is: `certain`, `likely`, `possible`."""
    action: str = ""
    """The fix, in one sentence; the check's own where there is none."""
    surer: str
    """What to look at to be surer, in one sentence."""
    next_steps: tuple[str, ...] = ()
    """Commands; the check's own where there are none."""
    least_share: float = 0.0
    """Where the patterns read how long a step took and a part of it: the share of the part from which on it is told."""
    mends: Literal["", "torch", "jax", "tensorflow"] = ""
    """What to install afresh; where the build for the machine is known, its command replaces `next_steps`."""
    sources: tuple[str, ...]
    checked_on: datetime.date

    def search(self, text: str) -> Recognised | None:
        """The first place in `text` that tells of it and does not merely speak of it."""
        found = self._first(text)
        is_harmless = found is not None and self.unless and _compiled(self.unless).search(text)
        return None if is_harmless else found

    def _first(self, text: str) -> Recognised | None:
        if self.least_share:
            return next(filter(None, (_costly(pattern, text, self.least_share) for pattern in self.patterns)), None)
        places = [place for pattern in self.patterns if (place := _place(pattern, text))]
        return min(places, key=lambda place: place.start, default=None)

    def may_be_in(self, words: str) -> bool:
        """Whether `words`, those of a text by `words_of`, allow one of its patterns; far quicker than to search."""
        return any(all(word in words for word in _needed(pattern)) for pattern in self.patterns)

    def means(self, values: Mapping[str, str]) -> str:
        """The meaning with what the text names."""
        return self.meaning.format_map({name: _READ.get(name, str)(value) for name, value in values.items()})


@cache
def signatures() -> tuple[Signature, ...]:
    """Every signature, family by family, in the user's language.

    Raises:
        ValueError: a table itself is wrong.
    """
    folder = resources.files("rigwise.knowledge").joinpath("signatures")
    tables = sorted((file for file in folder.iterdir() if file.name.endswith(".toml")), key=lambda file: file.name)
    rows = [
        _row(name, row) for table in tables for name, row in tomllib.loads(table.read_text(encoding="utf-8")).items()
    ]
    if len({row.id for row in rows}) != len(rows):
        raise ValueError("knowledge/signatures: an id stands twice")
    return tuple(rows)


def words_of(text: str) -> str:
    r"""Every word of a text, without its digits: of a log of millions of similar lines, a short text.

    >>> words_of("step 1 of 20\nstep 2 of 20\nstep 3 of 20").split()
    ['step', 'of']
    """
    lines = "\n".join(dict.fromkeys(text.translate(_NO_DIGITS).split("\n")))
    if len(lines) < FEW_CHARACTERS:
        return lines
    words = " ".join(dict.fromkeys(word[:LONG_WORD] for word in _LITERAL.findall(lines)))
    return words if len(words) <= MANY_CHARACTERS else words[: MANY_CHARACTERS // 2] + words[-MANY_CHARACTERS // 2 :]


@cache
def _needed(pattern: str) -> tuple[str, ...]:
    """The words that every text recognised by a pattern holds, as `words_of` writes them."""
    return tuple(_LITERAL.findall(_without_choices(pattern).translate(_NO_DIGITS)))


def _without_choices(pattern: str) -> str:
    """The pattern with a space for all that may be one thing or another."""
    while (rest := _NOT_LITERAL.sub(" ", pattern)) != pattern:
        pattern = rest
    return pattern


@cache
def literal_of(pattern: str) -> str:
    r"""The longest word that every text recognised by a pattern holds; finding it is far quicker than the pattern.

    >>> literal_of(r"Failed to initialize NVML: (?:Unknown|GPU) errors? \d+")
    'initialize'
    """
    return max(_LITERAL.findall(_without_choices(pattern)), key=len, default="")


def _place(pattern: str, text: str) -> Recognised | None:
    return next(_places(pattern, text), None)


def _places(pattern: str, text: str) -> Iterator[Recognised]:
    if literal_of(pattern) not in text:
        return
    for found in _compiled(pattern).finditer(text):
        if not is_only_spoken_of(text, found.start()):
            yield Recognised(found.start(), found.end(), {k: v for k, v in found.groupdict().items() if v})


def _costly(pattern: str, text: str, least_share: float) -> Recognised | None:
    """The first step of which a part took so much, where it does so in most steps, or in a few that outweigh them."""
    steps = [(place, share_of_step(place.values)) for place in _places(pattern, text)]
    if len(steps) < FEWEST_STEPS:
        return None
    share = max(median(share for _, share in steps), _share_of_all([place.values for place, _ in steps]))
    place = next((place for place, own in steps if own >= least_share), None)
    if share < least_share or place is None:
        return None
    return msgspec.structs.replace(place, values=place.values | {"share": percent(share)})


def _share_of_all(steps: Sequence[Mapping[str, str]]) -> float:
    """The share (0 to 1) of the part in all steps together, where the averages that the last one gives agree; else 0.

    The first step is left out: it waits for the loader's start.

    >>> rare = [{"whole": w, "part": p, "whole_mean": "8", "part_mean": "7"} for w, p in (("1", "0"), ("67", "66"))]
    >>> _share_of_all([rare[0], *rare])
    0.875
    """
    if "part_mean" not in steps[-1]:
        return 0.0
    part, whole = (sum(float(step[name]) for step in steps[1:]) for name in ("part", "whole"))
    means = share_of_step({"part": steps[-1]["part_mean"], "whole": steps[-1]["whole_mean"]})
    return min(part / whole, means) if 0 < whole < math.inf else 0.0


def share_of_step(values: Mapping[str, str]) -> float:
    """The share (0 to 1) of `part` in `whole`, or in itself and the `rest`; 0 where the text gives no length.

    >>> share_of_step({"part": "1.5", "whole": "2.0"}), share_of_step({"part": "3", "rest": "1"})
    (0.75, 0.75)
    """
    try:
        part = float(values["part"])
        whole = float(values["whole"]) if "whole" in values else part + float(values["rest"])
    except ValueError:
        return 0.0
    return min(1.0, part / whole) if whole > 0 else 0.0


def is_only_spoken_of(text: str, start: int) -> bool:
    """Whether an error text stands in advice or in source code, and was not printed."""
    return is_advice(text, start) or is_source(text, start) or in_a_block(source_blocks(text), start)


def is_advice(text: str, start: int) -> bool:
    """Whether the sentence before it, which a manual may break over two lines, speaks of what might happen."""
    before = text[max(0, start - _ADVICE_REACH) : start]
    sentence = _SENTENCE_END.split(before)[-1]
    return _ADVICE.search(sentence) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.replace(" ?", r"\s{0,40}").replace(" ", r"\s{1,40}"))


def _row(name: str, row: object) -> Signature:
    signature = msgspec.convert(row, Signature)
    for value, known in ((signature.where, PLACES), (signature.blame, BLAMES), (signature.certainty, CERTAINTIES)):
        if value not in known:
            raise ValueError(f"knowledge/signatures: {name} says {value}, which is none of {', '.join(known)}")
    fault = check_catalogue().get(signature.check)
    if fault is None:
        raise ValueError(f"knowledge/signatures: {name} tells of {signature.check}, which is no check")
    return msgspec.structs.replace(
        signature,
        id=name,
        meaning=say(signature.meaning),
        action=say(signature.action) if signature.action else fault.action,
        surer=say(signature.surer),
        next_steps=signature.next_steps or fault.next_steps,
    )


def _cuda_version(code: str) -> str:
    """CUDA's own way of writing a version, 1000 times major plus 10 times minor: `11040` is 11.4."""
    return f"{int(code) // 1000}.{int(code) % 1000 // 10}" if code.isdecimal() else code


_READ = {"cuda_code": _cuda_version}
"""Groups whose text is not what people read."""
