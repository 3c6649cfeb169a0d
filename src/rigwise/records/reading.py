"""A parsed value, or the reason there is none. Absence is never health.

`need()` is how a check uses a value: it returns it, or raises `AbsentReading`, which the engine turns into
verdict `unknown`. While the engine watches (`watch_readings`), every needed reading is remembered, so that an `ok`
quotes its evidence too.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, TypeVar

import msgspec

from rigwise.records.evidence import Evidence, Quote, Status

T = TypeVar("T")

_watched: ContextVar[list["Reading[Any]"] | None] = ContextVar("watched", default=None)


class AbsentReading(Exception):
    """A check needed a value that is not there."""

    def __init__(self, reading: "Reading[Any]") -> None:
        super().__init__(reading.name)
        self.reading = reading


class Reading(msgspec.Struct, Generic[T], frozen=True):
    """The value with the words it was parsed from, or why there is none."""

    name: str
    """What was read, in the field's terms: `temperature`."""
    value: T | None
    status: Status
    quote: Quote
    return_code: int | None = None

    @property
    def present(self) -> bool:
        """Whether there is a value."""
        return self.status is Status.OK

    def need(self) -> T:
        """The value.

        Raises:
            AbsentReading: there is none; the engine turns this into `unknown`.
        """
        self._remember()
        if self.value is None:
            raise AbsentReading(self)
        return self.value

    def answered(self) -> bool:
        """Whether there is a value; a failure is an answer too, and counts as evidence.

        Raises:
            AbsentReading: nobody asked, the question hung, or the answer makes no sense.
        """
        self._remember()
        if self.status in (Status.NOT_RECORDED, Status.TIMED_OUT, Status.UNREADABLE):
            raise AbsentReading(self)
        return self.present

    def value_or(self, default: T) -> T:
        """The value, or `default` where there is none and the check can do without."""
        return default if self.value is None else self.value

    def _remember(self) -> None:
        watched = _watched.get()
        if watched is not None:
            watched.append(self)


def present(name: str, value: T, evidence: Evidence, text: str | None = None) -> Reading[T]:
    """A reading with a value; `text` is the one line of the evidence it came from."""
    return Reading(name, value, Status.OK, evidence.quote(text), evidence.return_code)


def absent(name: str, evidence: Evidence, status: Status | None = None) -> Reading[Any]:
    """A reading without a value, for the reason the evidence gives (or `status`)."""
    reason = status if status is not None else evidence.status
    if reason is Status.OK:
        reason = Status.UNREADABLE
    return Reading(name, None, reason, evidence.quote(), evidence.return_code)


def not_asked(name: str) -> Reading[Any]:
    """A reading of something that only some ways of reading a machine know about."""
    return Reading(name, None, Status.NOT_RECORDED, Quote("", ""))


def lacking(reading: Reading[Any], name: str) -> AbsentReading:
    """What to raise where an answer is there, but not the part of it that is named."""
    return AbsentReading(Reading(name, None, Status.NOT_SUPPORTED, reading.quote))


def those_present(*readings: Reading[Any]) -> tuple[Reading[Any], ...]:
    """The readings that have a value: an absent one shows nothing."""
    return tuple(reading for reading in readings if reading.present)


@contextmanager
def watch_readings() -> Iterator[list[Reading[Any]]]:
    """Collect every reading that is needed inside the block."""
    needed: list[Reading[Any]] = []
    token = _watched.set(needed)
    try:
        yield needed
    finally:
        _watched.reset(token)
