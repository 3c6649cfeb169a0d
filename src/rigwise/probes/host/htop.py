"""Screens of `htop` as copied from a terminal: a bar for each CPU, for RAM and for swap."""

import re

from rigwise.probes.host.columns import mean, number, size_bytes
from rigwise.probes.host.free import FreeMemory
from rigwise.probes.host.proc_stat import ALL, CpuWindow
from rigwise.records.host import CpuShare

CPU = re.compile(r"(?:^|(?<=\s))(\d{1,4}) ?\[[^\]\n%]{0,200}?(\d{1,3}[.,]\d)%\]", re.MULTILINE)
LOAD = re.compile(r"Load average: (\d{1,6}[.,]\d\d) (\d{1,6}[.,]\d\d) (\d{1,6}[.,]\d\d)")
BAR = r"\[[^\]\n/\d]{0,200}([\d.,]{1,8}[KMGT]?)/([\d.,]{1,8}[KMGT])\]"
RAM, SWAP = re.compile("Mem" + BAR), re.compile("Swp" + BAR)


def window(text: str) -> CpuWindow:
    """How the CPUs spent the last refresh; htop does not tell waiting for disks from idling.

    >>> [one.busy_ratio for one in window("  0[|||||100.0%]   4[|   1.5%]").each]
    [1.0, 0.015]

    Raises:
        LookupError: there is no bar of a CPU.
    """
    each = tuple(CpuShare(name=name, busy_ratio=number(busy) / 100) for name, busy in CPU.findall(text))
    total = CpuShare(name=ALL, busy_ratio=mean(share.busy_ratio for share in each))
    return CpuWindow(total, each, None)


def count_cpus(text: str) -> int:
    """How many bars there are."""
    return len(window(text).each)


def load(text: str) -> tuple[float, float, float]:
    """The load averages.

    >>> load("Tasks: 213, 1411 thr; 2 running  Load average: 2.10 1.88 1.61 ")
    (2.1, 1.88, 1.61)
    """
    one, five, fifteen = LOAD.findall(text)[-1]
    return number(one), number(five), number(fifteen)


def memory(text: str) -> FreeMemory:
    """RAM and swap; what htop counts as used is without cache.

    >>> memory("Mem[|||||||30.0G/32.0G] Swp[||  1.00G/8.00G]").ram_available // 2**30
    2
    """
    used, total = (size_bytes(cell) for cell in RAM.findall(text)[-1])
    swap_used, swap_total = (size_bytes(cell) for cell in (SWAP.findall(text) or [("0", "0")])[-1])
    return FreeMemory(total, max(0, total - used), swap_total, swap_used)
