"""Cells of nvidia-smi's outputs as readings: values with units, states, counts, and the words in place of a value."""

import re
from collections.abc import Callable
from typing import TypeVar

import msgspec

from rigwise.probes.answers import parsed
from rigwise.probes.gpu.smi_messages import explained_value
from rigwise.probes.gpu.smi_views import Cell
from rigwise.records.evidence import Evidence, Status
from rigwise.records.reading import Reading, absent, not_asked, present
from rigwise.units import MIB

T = TypeVar("T")


class CellReader:
    """Reads cells into readings, each quoted as it was written."""

    def __init__(self, cells: dict[str, Cell], evidence: Evidence) -> None:
        self.cells = cells
        self.evidence = evidence

    def value(self, name: str, parse: Callable[[str], T], *paths: str) -> Reading[T]:
        """The first of `paths` that holds a value; else why the first one present holds none."""
        without: Reading[T] = not_asked(name)
        for path in paths:
            found = self.cells.get(path) or self.cells.get(path.partition("/")[0])
            if found is None:
                continue
            answer = explained_value(self.evidence, found.text)
            if answer.status is Status.OK:
                return _parsed_as(name, answer, parse, found.quoted)
            if without.status is Status.NOT_RECORDED:
                without = absent(name, msgspec.structs.replace(answer, text=found.quoted))
        return without

    def total(self, name: str, all_together: str, *parts: str) -> Reading[int]:
        """A count that is given as a whole, or in parts to be added."""
        told = self.value(name, count, all_together)
        if told.present:
            return told
        added = [self.value(name, count, path) for path in parts]
        counts = [one for one in added if one.value is not None]
        if not counts:
            return next((one for one in (told, *added) if one.status is not Status.NOT_RECORDED), told)
        quoted = ", ".join(one.quote.text for one in counts)
        return present(name, sum(one.value or 0 for one in counts), self.evidence, quoted)


def _parsed_as(name: str, answer: Evidence, parse: Callable[[str], T], quoted: str) -> Reading[T]:
    return parsed(name, answer, lambda _quoted: parse(answer.text), quoted)


def number(text: str) -> float:
    """The first number of a text, with a decimal point or comma.

    >>> number("26.78 W"), number("26,78 W"), number("P8"), number("-2 C")
    (26.78, 26.78, 8.0, -2.0)
    """
    found = re.search(r"-?\d+(?:[.,]\d+)?", text)
    if found is None:
        raise ValueError(text)
    return float(found[0].replace(",", "."))


def whole(text: str) -> int:
    """The first whole number of a text: `93 C`, `16x`, `P8`."""
    return int(number(text))


def count(text: str) -> int:
    """A text that is a whole number and nothing else."""
    return int(text)


def bytes_of_mib(text: str) -> int:
    """Bytes of a text in MiB; a bare number is one of `nounits`, which are MiB too."""
    if not re.fullmatch(r"\d+(?:\.\d+)?\s*(?:MiB)?", text):
        raise ValueError(text)
    return whole(text) * MIB


def ratio(text: str) -> float:
    """The ratio (0 to 1) of a percentage: `7 %`."""
    return number(text) / 100


def enabled(text: str) -> bool:
    """Whether a mode is on: `Enabled`, `On`, `Enabled*` (a change is pending)."""
    return {"enabled": True, "on": True, "disabled": False, "off": False}[text.rstrip("*").lower()]


def yes(text: str) -> bool:
    """Whether a flag is set: `Yes`."""
    return {"yes": True, "no": False, "1": True, "0": False}[text.lower()]
