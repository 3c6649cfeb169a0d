"""Output of `iostat`, with or without -x, in any locale (sysstat). Of several reports the first is since boot."""

from collections.abc import Sequence

from rigwise.probes.host.columns import mean, named, number
from rigwise.probes.host.proc_stat import ALL, CpuWindow
from rigwise.records.host import CpuShare, Disk

KIB = 1024
SECTOR_BYTES = 512
READ_COLUMNS = {"rkB/s": KIB, "rMB/s": KIB * KIB, "kB_read/s": KIB, "MB_read/s": KIB * KIB, "rsec/s": SECTOR_BYTES}
WRITE_COLUMNS = {"wkB/s": KIB, "wMB/s": KIB * KIB, "kB_wrtn/s": KIB, "MB_wrtn/s": KIB * KIB, "wsec/s": SECTOR_BYTES}
Row = dict[str, float]


def disks(text: str) -> tuple[Disk, ...]:
    """Each disk over the reports.

    >>> disks('''Device   r/s  rkB/s  r_await  w/s  wkB/s  w_await  aqu-sz  %util
    ... sda    110,0  8800,0   250,00  0,0    0,0     0,00   31,00  99,60''')[0].busy_ratio
    0.996
    """
    found: dict[str, list[Row]] = {}
    for report in _reports(text, "Device", "Device:"):
        columns = report[0].split()[1:]
        for line in report[1:]:
            cells = line.split()
            if len(cells) == len(columns) + 1 and cells[0][0].isalpha():
                found.setdefault(cells[0], []).append(_numbers(columns, cells))
    if not found:
        raise LookupError("Device")
    return tuple(_disk(name, [row for row in rows if row]) for name, rows in found.items() if any(rows))


def window(text: str) -> CpuWindow:
    """How all CPUs together spent the reports.

    Raises:
        LookupError: only the time since boot is there.
    """
    reports = _reports(text, "avg-cpu:")
    if sum(line.startswith("avg-cpu:") for line in text.splitlines()) < 2:
        raise LookupError("no window")
    return CpuWindow(_mean_cpu(reports), (), None)


def since_boot(text: str) -> CpuShare:
    """How all CPUs spent the time since boot, from a single report."""
    return _mean_cpu(_reports(text, "avg-cpu:"))


def _mean_cpu(reports: Sequence[Sequence[str]]) -> CpuShare:
    rows = [named(report[0].split()[1:], report[1].split()) for report in reports if len(report) > 1]
    iowait, steal = (mean(row.get(column, 0.0) for row in rows) / 100 for column in ("%iowait", "%steal"))
    busy = max(0.0, round(1 - mean(row["%idle"] for row in rows) / 100 - iowait - steal, 6))
    return CpuShare(name=ALL, busy_ratio=busy, iowait_ratio=iowait, steal_ratio=steal)


def _reports(text: str, *heads: str) -> list[list[str]]:
    """The blocks of lines that begin with one of the headlines and end at an empty line; not the first of several."""
    found: list[list[str]] = []
    inside = False
    for line in map(str.strip, text.splitlines()):
        if line.startswith(heads) and line.split()[0] in heads:
            found.append([line])
            inside = True
        elif not line:
            inside = False
        elif inside:
            found[-1].append(line)
    return found[1:] if len(found) > 1 else found


def _numbers(columns: Sequence[str], cells: Sequence[str]) -> Row:
    try:
        return dict(zip(columns, map(number, cells[1:]), strict=True))
    except ValueError:
        return {}


def _disk(name: str, rows: Sequence[Row]) -> Disk:
    mean_row = {column: mean(row.get(column, 0.0) for row in rows) for column in rows[0]}
    busy = mean_row.get("%util")
    wait = _wait_milliseconds(mean_row)
    return Disk(
        name=name,
        busy_ratio=None if busy is None else min(1.0, busy / 100),
        wait_seconds=None if wait is None else wait / 1000,
        queue_length=mean_row.get("aqu-sz", mean_row.get("avgqu-sz")),
        read_bytes_per_second=_rate(mean_row, READ_COLUMNS),
        write_bytes_per_second=_rate(mean_row, WRITE_COLUMNS),
    )


def _wait_milliseconds(row: Row) -> float | None:
    """Mean of reads and writes by their number; old versions have one column for both."""
    requests = [(row.get(f"{way}/s", 0.0), row.get(f"{way}_await", 0.0)) for way in ("r", "w")]
    total = sum(count for count, _wait in requests)
    if "r_await" in row and total > 0:
        return sum(count * wait for count, wait in requests) / total
    return row.get("await")


def _rate(row: Row, columns: dict[str, int]) -> float | None:
    return next((row[column] * unit for column, unit in columns.items() if column in row), None)
