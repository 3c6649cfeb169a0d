"""Screens of `top` in batch mode or as copied from a terminal (procps), in any locale."""

import re

from rigwise.probes.host.columns import is_number, number
from rigwise.probes.host.free import FreeMemory
from rigwise.probes.host.proc_stat import ALL, CpuWindow
from rigwise.records.host import CpuShare, ProcessLoad

SCREEN = re.compile(r"^top - ", re.MULTILINE)
TIMES = re.compile(r"(\d{1,3}[.,]\d)\s?%?\s?[a-z]{2}\b", re.IGNORECASE)
"""`12,5 us`: the words are translated (German `un`, French `ut`), their order stays."""
CPU_LINE = re.compile(r"%?Cpu(\d{1,5}|\(s\))\s{0,8}:", re.IGNORECASE)
MEMORY_LINE = re.compile(
    r"^[ \t]*([KMGT])iB Mem\s{0,4}:\s{0,8}([\d.,]+)[^\n]*\n[ \t]*[KMGT]iB Swap\s{0,4}:\s{0,8}([\d.,]+)[ +][^\d\n]{1,20}"
    r"[\d.,]+[ +][^\d\n]{1,20}([\d.,]+)[ +][^\d\n]{1,20}([\d.,]+)",
    re.MULTILINE,
)
"""RAM in all; below it swap in all and in use, and what programs can still have: the words are translated."""
UNIT_BYTES = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
LOAD = re.compile(r"(\d{1,6}[.,]\d\d),?\s+(\d{1,6}[.,]\d\d),?\s+(\d{1,6}[.,]\d\d)\s*$", re.MULTILINE)


def window(text: str) -> CpuWindow:
    """How the CPUs spent the time before the last screen; of several the first tells of the time since boot.

    >>> screen = "%Cpu0  : 98,0 us,  1,0 sy,  0,0 ni,  0,0 id,  1,0 wa,  0,0 hi,  0,0 si,  0,0 st"
    >>> window("top - 10:00:00 up 1 day" + chr(10) + screen).each
    (CpuShare(name='0', busy_ratio=0.99, iowait_ratio=0.01, steal_ratio=0.0),)
    """
    shares = [share for line in last_screen(text).splitlines() for share in _cpu_line(line)]
    each = tuple(share for share in shares if share.name != ALL)
    total = next((share for share in shares if share.name == ALL), None)
    if total is None:
        count = len(each)
        if not count:
            raise LookupError("%Cpu")
        total = CpuShare(
            name=ALL,
            busy_ratio=sum(share.busy_ratio for share in each) / count,
            iowait_ratio=sum(share.iowait_ratio for share in each) / count,
            steal_ratio=sum(share.steal_ratio for share in each) / count,
        )
    return CpuWindow(total, each, None)


def each_window(text: str) -> CpuWindow:
    """The same, where the screen shows every CPU on its own line (key 1)."""
    found = window(text)
    if not found.each:
        raise LookupError("%Cpu0")
    return found


def load(text: str) -> tuple[float, float, float]:
    """The load averages of the last screen, or of a line of `uptime`.

    >>> load("top - 14:02:11 up 3 days,  2:01,  1 user,  load average: 12,01, 11,50, 10,20")
    (12.01, 11.5, 10.2)
    """
    found = LOAD.findall("\n".join(line for line in text.splitlines() if " up " in line or line.startswith("top -")))
    one, five, fifteen = found[-1]
    return number(one), number(five), number(fifteen)


def processes(text: str) -> tuple[ProcessLoad, ...]:
    """The processes of the last screen, the busiest first.

    >>> processes('''    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND
    ...   4242 ada       20   0   12,1g   3,0g   0,2g R  99,7   4,8  10:21.01 python train.py''')
    (ProcessLoad(pid=4242, name='python', cpus=0.997),)
    """
    found: list[ProcessLoad] = []
    columns: list[str] = []
    for line in last_screen(text).splitlines():
        cells = line.split()
        if "PID" in cells and "%CPU" in cells:
            columns = cells
        elif columns and len(cells) >= len(columns) and cells[columns.index("PID")].isdecimal():
            used = cells[columns.index("%CPU")]
            if is_number(used):
                name = cells[len(columns) - 1].rpartition("/")[2]
                pid = int(cells[columns.index("PID")][:10])
                found.append(ProcessLoad(pid=pid, name=name, cpus=number(used) / 100))
    if not columns:
        raise LookupError("PID")
    return tuple(sorted(found, key=lambda process: process.cpus, reverse=True))


def memory(text: str) -> FreeMemory:
    """RAM and swap of the last screen; versions before 3.3 do not tell what is available.

    >>> found = memory('''KiB Mem : 16363244 total,   329000 free, 15569480 used,   464764 buff/cache
    ... KiB Swap: 16707580 total, 10609236 free,  6098344 used.   275080 avail Mem''')
    >>> found.ram_total // 1024, found.swap_used // 1024, found.ram_available // 1024
    (16363244, 6098344, 275080)

    Raises:
        LookupError: it shows neither.
    """
    found = MEMORY_LINE.search(last_screen(text))
    if found is None:
        raise LookupError("Mem")
    unit = UNIT_BYTES[found[1]]
    total, swap, swap_used, available = (round(number(found[place].rstrip(".,")) * unit) for place in (2, 3, 4, 5))
    return FreeMemory(total, available, swap, swap_used)


def last_screen(text: str) -> str:
    """The last of several screens, without the headline's `top - `; the whole text where there is only one."""
    return SCREEN.split(text)[-1]


def _cpu_line(line: str) -> list[CpuShare]:
    """The CPU, or CPUs (newer versions show two in a line), of one line."""
    heads = list(CPU_LINE.finditer(line))
    ends = [*(head.start() for head in heads[1:]), len(line)] if heads else []
    pieces = [(head[1], line[head.end() : end]) for head, end in zip(heads, ends, strict=True)]
    return [_share(ALL if name == "(s)" else name, times) for name, piece in pieces if (times := _times(piece))]


def _times(piece: str) -> list[float]:
    found = [number(value) / 100 for value in TIMES.findall(piece)]
    return found if len(found) in (7, 8) else []


def _share(name: str, times: list[float]) -> CpuShare:
    idle, iowait = times[3], times[4]
    steal = times[7] if len(times) == 8 else 0.0
    busy = max(0.0, round(1 - idle - iowait - steal, 6))
    return CpuShare(name=name, busy_ratio=busy, iowait_ratio=iowait, steal_ratio=steal)
