"""/proc/stat: the time of each CPU, and what one or two looks at it tell (proc(5))."""

from collections.abc import Mapping
from typing import NamedTuple

from rigwise.records.host import CpuShare

ALL = "all"
TICKS_PER_SECOND = 100
"""USER_HZ of every common Linux build."""
Ticks = tuple[int, ...]
"""user, nice, system, idle, iowait, irq, softirq, steal; the rest is part of user and nice."""
NUM_TIMES = 8


class CpuWindow(NamedTuple):
    """How the CPUs spent a window."""

    total: CpuShare
    each: tuple[CpuShare, ...]
    seconds: float | None


def looks(text: str) -> list[dict[str, Ticks]]:
    r"""Every look at /proc/stat in a text, each with the times by CPU; `all` is the sum.

    >>> looks("cpu 4 0 1 9 1 0 0 0\ncpu0 4 0 1 9 1 0 0 0\nintr 7\ncpu 6 0 1 9 1 0 0 0\n")
    [{'all': (4, 0, 1, 9, 1, 0, 0, 0), '0': (4, 0, 1, 9, 1, 0, 0, 0)}, {'all': (6, 0, 1, 9, 1, 0, 0, 0)}]
    """
    found: list[dict[str, Ticks]] = []
    for line in text.splitlines():
        name, *cells = line.split()[: NUM_TIMES + 1] or [""]
        if not name.startswith("cpu") or len(cells) < 4 or not all(cell.isdecimal() for cell in cells):
            continue
        which = name.removeprefix("cpu") or ALL
        if not found or which in found[-1]:
            found.append({})
        times = tuple(int(cell[:18]) for cell in cells)
        found[-1][which] = times + (0,) * (NUM_TIMES - len(times))
    return found


def since_boot(text: str) -> CpuShare:
    """How all CPUs spent the time since boot."""
    return share(ALL, looks(text)[-1][ALL])


def count_cpus(text: str) -> int:
    r"""How many CPUs the last look shows.

    >>> count_cpus("cpu 4 0 1 9\ncpu0 2 0 1 4\ncpu1 2 0 0 5\n")
    2
    """
    count = len(looks(text)[-1].keys() - {ALL})
    if not count:
        raise LookupError("no CPU")
    return count


def window(text: str) -> CpuWindow:
    """How the CPUs spent the time between the first and the last look.

    Raises:
        LookupError: there is only one look, or the clock did not advance between them.
    """
    seen = looks(text)
    spent = _between(seen[0], seen[-1])
    each = tuple(share(name, ticks) for name, ticks in spent.items() if name != ALL and sum(ticks) > 0)
    seconds = sum(spent[ALL]) / TICKS_PER_SECOND / max(1, len(spent) - 1)
    return CpuWindow(share(ALL, spent[ALL]), each, seconds)


def _between(first: Mapping[str, Ticks], last: Mapping[str, Ticks]) -> dict[str, Ticks]:
    """Ticks spent by each CPU that was there both times; iowait may run backwards, and then counts as none."""
    if sum(last[ALL]) <= sum(first[ALL]):
        raise LookupError("no time between the looks")
    return {
        name: tuple(max(0, after - before) for before, after in zip(first[name], ticks, strict=True))
        for name, ticks in last.items()
        if name in first
    }


def share(name: str, ticks: Ticks) -> CpuShare:
    """Shares of the ticks of one CPU.

    >>> share("0", (20, 0, 10, 50, 10, 0, 0, 10))
    CpuShare(name='0', busy_ratio=0.3, iowait_ratio=0.1, steal_ratio=0.1)
    """
    total = sum(ticks)
    if total <= 0:
        raise LookupError("no time")
    _user, _nice, _system, idle, iowait, _irq, _softirq, steal = ticks
    return CpuShare(
        name=name,
        busy_ratio=(total - idle - iowait - steal) / total,
        iowait_ratio=iowait / total,
        steal_ratio=steal / total,
    )
