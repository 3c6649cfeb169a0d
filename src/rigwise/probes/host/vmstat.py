"""Output of `vmstat N`, and the counters of /proc/vmstat. The first line of `vmstat` tells of the time since boot."""

from typing import NamedTuple

from rigwise.probes.host.columns import is_number, mean, number
from rigwise.probes.host.proc_stat import ALL, CpuWindow
from rigwise.records.host import CpuShare

KIB = 1024
PAGE_BYTES = 4096
"""Of x86-64; where pages are larger (some ARM servers), a rate worked out with it is too low, never too high."""
Row = dict[str, float]


class SwapRates(NamedTuple):
    """Bytes per second over a window."""

    read: float
    written: float


def window(text: str) -> CpuWindow:
    """How all CPUs together spent the window."""
    lines = rows(text)
    busy = mean(line["us"] + line["sy"] for line in lines) / 100
    total = CpuShare(
        name=ALL,
        busy_ratio=busy,
        iowait_ratio=mean(line.get("wa", 0.0) for line in lines) / 100,
        steal_ratio=mean(line.get("st", 0.0) for line in lines) / 100,
    )
    return CpuWindow(total, (), float(len(lines)))


def runnable(text: str) -> float:
    """Tasks that ran or waited for a CPU, on average of the window.

    >>> runnable('''procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----
    ...  r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
    ...  1  0      0 500000  10000 900000    0    0     5     9   50   90  2  1 97  0  0
    ... 24  0      0 500000  10000 900000    0    0     0     0  900 4000 98  2  0  0  0''')
    24.0
    """
    return mean(line["r"] for line in rows(text))


def swap_rates(text: str) -> SwapRates:
    """What was swapped in and out, on average of the window."""
    lines = rows(text)
    return SwapRates(mean(line["si"] for line in lines) * KIB, mean(line["so"] for line in lines) * KIB)


def rows(text: str) -> list[Row]:
    """The lines about a window, by column.

    Raises:
        LookupError: only the time since boot is there.
    """
    found: list[Row] = []
    columns: list[str] = []
    first = True
    for line in text.splitlines():
        cells = line.split()
        if cells[:2] == ["r", "b"]:
            first = first or cells != columns
            columns = cells
        elif columns and len(cells) >= len(columns) and all(map(is_number, cells[: len(columns)])):
            if not first:
                found.append(dict(zip(columns, map(number, cells), strict=False)))
            first = False
    if not found or "id" not in found[0]:
        raise LookupError("no window")
    return found


def counters(text: str) -> dict[str, int]:
    r"""The counters of /proc/vmstat by name.

    >>> counters("pswpin 1476\npswpout 35045\n")
    {'pswpin': 1476, 'pswpout': 35045}
    """
    pairs = [line.split() for line in text.splitlines()]
    return {pair[0]: int(pair[1][:20]) for pair in pairs if len(pair) == 2 and pair[1].isdecimal()}


def counted_swap_rates(before: str, after: str, seconds: float) -> SwapRates:
    """What was swapped between two looks at /proc/vmstat."""
    first, last = counters(before), counters(after)
    read, written = (max(0, last[name] - first[name]) * PAGE_BYTES / seconds for name in ("pswpin", "pswpout"))
    return SwapRates(read, written)
