"""Tables of numbers as system programs print them, in any locale. Must not know any program."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from rigwise.records.evidence import Status
from rigwise.records.reading import Reading

T = TypeVar("T")
U = TypeVar("U")
NUMBER = re.compile(r"-?\d{1,18}(?:[.,]\d{1,12})?%?")
SUFFIXES = {"": 1, "B": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40, "P": 2**50}


def number(cell: str) -> float:
    """The number in a cell, with a decimal point or comma.

    >>> number("12.5"), number("12,5"), number("7%")
    (12.5, 12.5, 7.0)
    """
    if not NUMBER.fullmatch(cell):
        raise ValueError(cell)
    return float(cell.rstrip("%").replace(",", "."))


def is_number(cell: str) -> bool:
    """Whether `number` understands the cell."""
    return NUMBER.fullmatch(cell) is not None


def size_bytes(cell: str, unit_bytes: int = 1) -> int:
    """Bytes of a size; `unit_bytes` is what a bare number counts.

    >>> size_bytes("1,5G"), size_bytes("62Gi"), size_bytes("2", 1024)
    (1610612736, 66571993088, 2048)
    """
    found = re.fullmatch(r"(\d{1,18}(?:[.,]\d{1,6})?)([BKMGTP]?)(?:i?B?)", cell)
    if found is None:
        raise ValueError(cell)
    factor = SUFFIXES[found[2]] if found[2] else unit_bytes
    return round(number(found[1]) * factor)


def named(columns: Sequence[str], cells: Sequence[str]) -> dict[str, float]:
    """The numbers of a row by column; the row may begin with more cells, such as a time.

    >>> named(["%usr", "%idle"], ["14:05:01", "0", "12,50", "87,50"])
    {'%usr': 12.5, '%idle': 87.5}
    """
    if len(cells) < len(columns):
        raise ValueError(" ".join(cells))
    return {name: number(cell) for name, cell in zip(columns, cells[-len(columns) :], strict=True)}


def mean(values: Iterable[float]) -> float:
    """The arithmetic mean.

    Raises:
        LookupError: there are no values.
    """
    listed = list(values)
    if not listed:
        raise LookupError("no values")
    return sum(listed) / len(listed)


def first_present(*readings: Reading[T]) -> Reading[T]:
    """The first reading with a value; else the first that at least was asked; else the first."""
    asked = [reading for reading in readings if reading.status is not Status.NOT_RECORDED]
    return next((one for one in readings if one.present), (asked or list(readings))[0])


def derived(reading: Reading[T], name: str, derive: Callable[[T], U]) -> Reading[U]:
    """Another value worked out of a reading, with the same evidence; absent where `derive` finds none."""
    absence: Reading[Any] = msgspec.structs.replace(reading, name=name, value=None)
    if reading.value is None:
        return absence
    try:
        return Reading(name, derive(reading.value), Status.OK, reading.quote, reading.return_code)
    except (ValueError, LookupError, ZeroDivisionError):
        return msgspec.structs.replace(absence, status=Status.NOT_RECORDED)
