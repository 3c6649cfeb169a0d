"""Why a GPU holds its clocks back, and whether that matters: one row a bit in clock_event_reasons.csv.

Older drivers call them throttle reasons. A bit says what holds now, not for how long: judge a share of time.
"""

import csv
from enum import StrEnum
from functools import cache
from importlib import resources

import msgspec

from rigwise.speech import say


class ClockEventVerdict(StrEnum):
    """How much a reason matters while the GPU is at work."""

    BENIGN = "benign"
    WATCH = "watch"
    SERIOUS = "serious"


class ClockEventReason(msgspec.Struct, frozen=True, kw_only=True):
    """One bit of NVML's mask `clocks_event_reasons`."""

    bit: int
    name: str
    """As nvidia-smi -q -x names it, without `clocks_event_reason_`: `hw_slowdown`."""
    nvml_name: str
    """As nvml.h names it, without `nvmlClocksEventReason`: `HwSlowdown`; "" for a bit that is not in the table."""
    verdict: ClockEventVerdict
    meaning: str
    source: str


@cache
def clock_event_reasons() -> tuple[ClockEventReason, ...]:
    """Every known reason, lowest bit first, its meaning in the user's language."""
    text = resources.files("rigwise.knowledge").joinpath("clock_event_reasons.csv").read_text(encoding="utf-8")
    return tuple(_reason(row) for row in csv.DictReader(text.splitlines()))


def reasons_in(mask: int) -> tuple[ClockEventReason, ...]:
    """The reasons set in a mask, lowest bit first; a bit newer than the table is one to watch, never nothing.

    >>> [reason.name for reason in reasons_in(0x48)]
    ['hw_slowdown', 'hw_thermal_slowdown']
    >>> [reason.name for reason in reasons_in(0x8000)], reasons_in(0)
    (['unknown_0x8000'], ())
    """
    known = {reason.bit: reason for reason in clock_event_reasons()}
    bits = [1 << position for position in range(mask.bit_length()) if mask >> position & 1]
    return tuple(known.get(bit) or _unknown(bit) for bit in bits)


def _reason(row: dict[str, str]) -> ClockEventReason:
    return msgspec.convert(row | {"bit": int(row["bit"], 16), "meaning": say(row["meaning"])}, ClockEventReason)


def _unknown(bit: int) -> ClockEventReason:
    return ClockEventReason(
        bit=bit,
        name=f"unknown_{bit:#x}",
        nvml_name="",
        verdict=ClockEventVerdict.WATCH,
        meaning=say("A reason that this version of rigwise does not know."),
        source="",
    )
