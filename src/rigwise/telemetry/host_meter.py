"""Reads the host metrics with psutil: the machine's cores, RAM, swap and disks, and this process with its children.

A value the system does not give is left out, never 0.
"""

from collections.abc import Callable, Iterator
from typing import Any

import psutil

from rigwise.knowledge.metrics import load_metrics

Measured = tuple[str, str, float]
"""Metric, target, value."""

HOST = "host"
PROCESS = "process"


class HostMeter:
    """What psutil says. Rates are since the reading before, so the first one has none."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._read_at = clock()
        self._tree = [psutil.Process()]
        self._cpu_seconds: dict[int, float] = {}
        self._disk_bytes: dict[str, int] = {}
        self._cores_read = False

    def read(self) -> Iterator[Measured]:
        """The fast metrics. Always from the same thread: psutil compares a thread's call with its last one."""
        now = self._clock()
        seconds, self._read_at = now - self._read_at, now
        ram = _answer(psutil.virtual_memory)
        if ram is not None:
            yield "ram_available_bytes", HOST, ram.available
        yield from self._cores()
        yield from self._disks(seconds)
        yield from self._processes(seconds)

    def read_slow(self) -> Iterator[Measured]:
        """The slow metrics; also looks for new processes in the tree, which walks all of /proc."""
        [root, *_] = self._tree
        self._tree = [root, *(_answer(root.children, recursive=True) or ())]
        swap = _answer(psutil.swap_memory)
        if swap is not None:
            yield "swap_used_bytes", HOST, swap.used

    def _cores(self) -> Iterator[Measured]:
        metric = load_metrics()["cpu_utilization_ratio"]
        percentages = _answer(psutil.cpu_percent, percpu=True) or ()
        if self._cores_read:  # the first call has nothing to compare with and says 0
            for core, percentage in enumerate(percentages):
                yield metric.name, f"cpu{core}", percentage * metric.scale
        self._cores_read = True

    def _disks(self, seconds: float) -> Iterator[Measured]:
        counters = _answer(psutil.disk_io_counters)
        now = {"read": counters.read_bytes, "write": counters.write_bytes} if counters else {}
        for way in now.keys() & self._disk_bytes.keys():
            yield f"disk_{way}_bytes_per_second", HOST, (now[way] - self._disk_bytes[way]) / seconds
        self._disk_bytes = now

    def _processes(self, seconds: float) -> Iterator[Measured]:
        rss_bytes, cpu_seconds = 0, {}
        for process in self._tree:
            try:
                with process.oneshot():
                    rss_bytes += process.memory_info().rss
                    times = process.cpu_times()
            except psutil.Error:  # it ended
                continue
            cpu_seconds[process.pid] = times.user + times.system
        yield "process_rss_bytes", PROCESS, rss_bytes
        both = cpu_seconds.keys() & self._cpu_seconds.keys()
        if both:
            used_seconds = sum(cpu_seconds[pid] - self._cpu_seconds[pid] for pid in both)
            yield "process_cpu_cores", PROCESS, used_seconds / seconds
        self._cpu_seconds = cpu_seconds


def _answer(question: Callable[..., Any], **how: Any) -> Any:
    """What psutil says, or None where this system does not tell (some containers hide parts of /proc)."""
    try:
        return question(**how)
    except (OSError, NotImplementedError, psutil.Error):
        return None
