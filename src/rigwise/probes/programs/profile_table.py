"""A table of torch.profiler (`key_averages().table()`), as people paste it."""

import re
from collections.abc import Iterator

from rigwise.probes.answers import above_zero, parsed
from rigwise.records.profile import Profile, ProfileRow
from rigwise.records.reading import Reading
from rigwise.sources.source import Source

KEY = "torch profiler"
UNIT_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
_TOTAL = re.compile(r"Self (CPU|CUDA|XPU) time total:\s*([\d.]+\s*(?:us|ms|s))\b")
_TIME = re.compile(r"([\d.]+)\s*(us|ms|s)\b")
SHOWN_ROWS = 4
LEAST_PERCENT = 5.0
"""Our choice: the share of a smaller row is too coarse to tell the whole by."""
_PERCENT = re.compile(r"(\d{1,3}\.\d{1,2})%")
_GAP = re.compile(r"\s{2,}")


def read_profile(source: Source) -> Reading[Profile]:
    """The last profile that somebody handed over."""
    evidence = source.command([], key=KEY)
    return parsed("profile of the script", evidence, lambda _quoted: profile(evidence.text), _shown(evidence.text))


def _shown(text: str) -> str:
    """The totals; of a table that is cut above them, its first rows."""
    return totals(text) or "\n".join("  ".join(cells.values()) for cells in _cells(text)[:SHOWN_ROWS])


def totals(text: str) -> str:
    r"""The lines of the totals of the last table.

    >>> totals("x  1\nSelf CPU time total: 5.2ms\nSelf CUDA time total: 2.1ms\n")
    'Self CPU time total: 5.2ms\nSelf CUDA time total: 2.1ms'
    """
    last = text.rfind("Self CPU time total")
    return "\n".join(match[0] for match in _TOTAL.finditer(text, max(0, last)))


def profile(text: str) -> Profile:
    r"""The last table of a text.

    Where it is cut above its totals, the CPU time follows from the share of a row.

    Raises:
        LookupError: it tells no total.

    >>> found = profile("Name  Self CPU  # of Calls\naten::mm  12.0ms  50\nSelf CPU time total: 17ms")
    >>> round(found.cpu_seconds, 6), found.gpu_seconds, found.rows[0].num_calls
    (0.017, None, 50)
    """
    spent = {match[1]: seconds(match[2]) for match in _TOTAL.finditer(totals(text))}
    gpu = [value for place, value in spent.items() if place != "CPU"]
    cpu_seconds = spent["CPU"] if "CPU" in spent else _total_by_share(text)
    return Profile(cpu_seconds=above_zero(cpu_seconds), gpu_seconds=gpu[0] if gpu else None, rows=tuple(_rows(text)))


def _total_by_share(text: str) -> float:
    r"""The CPU time in seconds of which the first row has a share of some percent.

    Raises:
        LookupError: no row tells.

    >>> _total_by_share("Name  Self CPU %  Self CPU\naten::mm  50.00%  12.0s")
    24.0
    """
    for cells in _cells(text):
        share = _PERCENT.fullmatch(cells.get("Self CPU %", ""))
        if share and float(share[1]) >= LEAST_PERCENT:
            return 100 * seconds(cells["Self CPU"]) / float(share[1])
    raise LookupError("Self CPU time total")


def seconds(cell: str) -> float:
    """A time of the table.

    Raises:
        LookupError: it is none.

    >>> seconds("11.979ms"), seconds("2 s"), seconds("726.288us")
    (0.011979, 2.0, 0.000726288)
    """
    number, unit = _TIME.findall(cell)[0]
    return round(float(number) * UNIT_SECONDS[unit], 12)


def _rows(text: str) -> Iterator[ProfileRow]:
    """The rows of the last table; lines that are no rows are passed over."""
    yield from (row for cells in _cells(text) if (row := _row(cells)) is not None)


def _cells(text: str) -> list[dict[str, str]]:
    """The lines below the last line of column names that have as many cells."""
    columns: list[str] = []
    lines: list[dict[str, str]] = []
    for line in text.splitlines():
        cells = _GAP.split(line.strip())
        if "Self CPU" in cells:
            columns, lines = cells, []
        elif len(cells) == len(columns):
            lines.append(dict(zip(columns, cells, strict=True)))
    return lines


def _row(cells: dict[str, str]) -> ProfileRow | None:
    gpu = next((name for name in ("Self CUDA", "Self XPU", "Self PrivateUse1") if name in cells), None)
    try:
        return ProfileRow(
            name=cells["Name"],
            self_cpu_seconds=seconds(cells["Self CPU"]),
            self_gpu_seconds=seconds(cells[gpu]) if gpu else 0.0,
            num_calls=int(cells["# of Calls"]),
        )
    except (LookupError, ValueError):
        return None
