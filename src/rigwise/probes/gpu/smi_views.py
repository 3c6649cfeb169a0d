"""What one output of nvidia-smi tells, in the terms of `nvidia-smi -q -x`, before it becomes typed readings.

Every form of output (table, -L, -q, CSV, dmon ...) is translated into these, so that there is one reader for all.
"""

import re
from datetime import datetime
from typing import NamedTuple

import msgspec

from rigwise.records.evidence import Evidence

EXACT_XML, EXACT_QUERY, EXACT_CSV, EXACT_TABLE, EXACT_MONITOR, EXACT_LIST = 6, 5, 4, 3, 2, 1
"""How exact a form of output is: the table rounds and shortens, the monitor rounds, the list only names."""
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class Cell(NamedTuple):
    """One value as nvidia-smi wrote it."""

    text: str
    """The value alone: `40 C`, `[N/A]`."""
    quoted: str
    """With its name, as it is shown: `GPU Current Temp: 40 C`."""


class ProcessCells(NamedTuple):
    """One process as nvidia-smi wrote it; "" for what it left out."""

    pid: str
    kind: str
    name: str
    used: str


class GpuCells(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU in one output."""

    index: int
    """As the output says, or its place in it."""
    cells: dict[str, Cell]
    """By path: `fb_memory_usage/total`."""
    processes: tuple[ProcessCells, ...] | None = None
    """None where the output holds no list, or only a part of it."""


class SmiView(msgspec.Struct, frozen=True, kw_only=True):
    """One output of nvidia-smi: some GPUs at one moment."""

    evidence: Evidence
    exactness: int
    gpus: tuple[GpuCells, ...]
    log: dict[str, Cell] = {}
    """What concerns the whole machine: `driver_version`, `cuda_version`, `attached_gpus`."""
    taken_at: datetime | None = None
    numbered: bool = False
    """Whether the output itself gives the GPUs' numbers."""
    series: str = ""
    """Outputs of one continuous watch share a name; "" for a single look."""


def cell(name: str, text: str) -> Cell:
    """A value with its name.

    >>> cell("fan.speed", " 38 % ").quoted
    'fan.speed: 38 %'
    """
    text = text.strip()
    return Cell(text, f"{name.strip()}: {text}")


def moment(text: str) -> datetime | None:
    """The time in a text, in the forms nvidia-smi writes; None where there is none.

    >>> moment("Wed Jun 24 10:26:49 2026"), moment("2026/06/24 10:26:49.788")
    (datetime.datetime(2026, 6, 24, 10, 26, 49), datetime.datetime(2026, 6, 24, 10, 26, 49, 788000))
    >>> moment("20260624 10:26:49"), moment("yesterday")
    (datetime.datetime(2026, 6, 24, 10, 26, 49), None)
    """
    clock = r"(\d\d):(\d\d):(\d\d)"
    found = re.search(rf"\b(\d{{4}})[/-]?(\d\d)[/-]?(\d\d)[ T]{{1,9}}{clock}(\.\d{{3}})?", text)
    if found:
        *parts, fraction = found.groups(default=".000")
        return _datetime(*map(int, parts), microsecond=int(fraction[1:]) * 1000)
    found = re.search(rf"\b({'|'.join(MONTHS)}) {{1,9}}(\d{{1,2}}) {{1,9}}{clock} {{1,9}}(\d{{4}})", text)
    if found is None:
        return None
    month, day, hour, minute, second, year = found.groups()
    return _datetime(int(year), MONTHS.index(month) + 1, int(day), int(hour), int(minute), int(second))


def _datetime(*parts: int, microsecond: int = 0) -> datetime | None:
    year, month, day, hour, minute, second = parts
    try:
        return datetime(year, month, day, hour, minute, second, microsecond)
    except ValueError:
        return None
