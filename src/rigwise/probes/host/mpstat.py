"""Output of `mpstat`, in any locale and clock (sysstat). Its first report without an interval is since boot."""

import re
from typing import NamedTuple

from rigwise.probes.host.columns import is_number, mean, named
from rigwise.probes.host.proc_stat import ALL, CpuWindow
from rigwise.records.host import CpuShare

CLOCK = re.compile(r"(\d{1,2}):(\d\d):(\d\d)")
IDLE, IOWAIT, STEAL = "%idle", "%iowait", "%steal"


class Row(NamedTuple):
    """One line of a report."""

    cpu: CpuShare
    when: str
    """Its clock as printed, "" in the averages at the end."""
    header_when: str
    """The clock of the headline: the start of the interval, or the same moment in a report since boot."""


def window(text: str) -> CpuWindow:
    r"""How the CPUs spent the whole time `mpstat` watched.

    >>> window('''10:00:00 AM  CPU    %usr   %nice    %sys %iowait  %steal   %idle
    ... 10:00:05 AM  all   12,50    0,00    0,00    2,50    0,00   85,00
    ... 10:00:05 AM    0  100,00    0,00    0,00    0,00    0,00    0,00
    ... ''').each
    (CpuShare(name='0', busy_ratio=1.0, iowait_ratio=0.0, steal_ratio=0.0),)

    Raises:
        LookupError: it only shows the time since boot.
    """
    found = rows(text)
    timed = [row for row in found if row.when and row.when != row.header_when]
    averages = [row for row in found if not row.when]
    shares = _means([row.cpu for row in averages or timed])
    seconds = sum({(row.header_when, row.when): _elapsed(row) for row in timed}.values())
    each = tuple(cpu for name, cpu in shares.items() if name != ALL)
    return CpuWindow(shares.get(ALL) or _over(each), each, seconds or None)


def each_window(text: str) -> CpuWindow:
    """The same, where the reports show every CPU (-P ALL)."""
    found = window(text)
    if not found.each:
        raise LookupError("no single CPU")
    return found


def since_boot(text: str) -> CpuShare:
    """How all CPUs spent the time since boot, from a report without an interval."""
    return [row.cpu for row in rows(text) if row.when and row.when == row.header_when and row.cpu.name == ALL][-1]


def count_cpus(text: str) -> int:
    """How many CPUs the reports show, or the banner says: `(16 CPU)`."""
    names = {row.cpu.name for row in rows(text)} - {ALL}
    banner = re.search(r"\((\d{1,5}) CPU\)", text)
    if not names and banner is None:
        raise LookupError("CPU")
    return max(len(names), int(banner[1]) if banner else 0)


def rows(text: str) -> list[Row]:
    """Every line of every report; damaged lines are left out."""
    found: list[Row] = []
    columns: list[str] = []
    header_when = ""
    for line in text.splitlines():
        before, mark, after = line.partition(" CPU ")
        if mark and IDLE in after:
            columns, header_when = after.split(), before.strip()
        elif columns:
            row = _row(line.split(), columns, header_when)
            found += [row] if row else []
    return found


def _row(cells: list[str], columns: list[str], header_when: str) -> Row | None:
    try:
        values = named(columns, cells)
    except ValueError:
        return None
    *when, name = cells[: -len(columns)] or [""]
    if name != ALL and not name.isdecimal():
        return None
    clock = " ".join(when) if when and is_clock(when) else ""
    iowait, steal = values.get(IOWAIT, 0.0) / 100, values.get(STEAL, 0.0) / 100
    busy = max(0.0, round(1 - values[IDLE] / 100 - iowait - steal, 6))
    return Row(CpuShare(name=name, busy_ratio=busy, iowait_ratio=iowait, steal_ratio=steal), clock, header_when)


def is_clock(cells: list[str]) -> bool:
    """Whether the cells before a row are a time of day; the averages have a word in the reader's language there."""
    return any(CLOCK.search(cell) or is_number(cell) for cell in cells)


def _means(shares: list[CpuShare]) -> dict[str, CpuShare]:
    names = dict.fromkeys(share.name for share in shares)
    if not names:
        raise LookupError("no interval")
    return {name: _mean(name, [share for share in shares if share.name == name]) for name in names}


def _over(each: tuple[CpuShare, ...]) -> CpuShare:
    """All CPUs together, where the report has no line for them."""
    return _mean(ALL, list(each))


def _mean(name: str, shares: list[CpuShare]) -> CpuShare:
    return CpuShare(
        name=name,
        busy_ratio=mean(share.busy_ratio for share in shares),
        iowait_ratio=mean(share.iowait_ratio for share in shares),
        steal_ratio=mean(share.steal_ratio for share in shares),
    )


def _elapsed(row: Row) -> float:
    """Seconds from headline to row; 0 where a clock is not understood."""
    clocks = [CLOCK.search(when) for when in (row.header_when, row.when)]
    first, last = (
        sum(int(part) * unit for part, unit in zip(clock.groups(), (3600, 60, 1), strict=True)) if clock else 0
        for clock in clocks
    )
    return (last - first) % 43200 if all(clocks) else 0
