"""Reads the host metrics with psutil: the machine's cores, RAM, swap and disks, and this process with its children.

A value the system does not give is left out, never 0.
"""

from collections.abc import Callable, Iterator

import psutil

from rigwise.knowledge.metrics import load_metrics

Measured = tuple[str, str, float]
"""Metric, target, value."""

HOST = "host"
PROCESS = "process"


class HostMeter:
    """What psutil says. Rates are since the call before, so the first one has none."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._tree = [psutil.Process()]
        self._cpu_seconds: dict[int, float] = {}
        self._disk_bytes: dict[str, int] = {}
        self._read_at = clock()
        self._cores_read = False

    def read(self) -> Iterator[Measured]:
        """The fast metrics."""
        now = self._clock()
        seconds, self._read_at = now - self._read_at, now
        yield from self._cores()
        yield "ram_available_bytes", HOST, psutil.virtual_memory().available
        yield from self._disks(seconds)
        yield from self._processes(seconds)

    def read_slow(self) -> Iterator[Measured]:
        """The slow metrics; also looks for processes that are new in the tree, which walks all of /proc."""
        [root, *_] = self._tree
        self._tree = [root, *root.children(recursive=True)]
        yield "swap_used_bytes", HOST, psutil.swap_memory().used

    def _cores(self) -> Iterator[Measured]:
        metric = load_metrics()["cpu_utilization_ratio"]
        percentages = psutil.cpu_percent(percpu=True)
        if self._cores_read:  # the first call of a thread has nothing to compare with and says 0
            for core, percentage in enumerate(percentages):
                yield metric.name, f"cpu{core}", percentage * metric.scale
        self._cores_read = True

    def _disks(self, seconds: float) -> Iterator[Measured]:
        counters = psutil.disk_io_counters()
        if counters is None:
            return
        now = {"read": counters.read_bytes, "write": counters.write_bytes}
        for way in self._disk_bytes.keys() & now.keys() if seconds > 0 else ():
            yield f"disk_{way}_bytes_per_second", HOST, (now[way] - self._disk_bytes[way]) / seconds
        self._disk_bytes = now

    def _processes(self, seconds: float) -> Iterator[Measured]:
        rss_bytes, cpu_seconds = 0, {}
        for process in self._tree:
            try:
                with process.oneshot():
                    rss_bytes += process.memory_info().rss
                    times = process.cpu_times()
            except psutil.Error:  # it ended, or became someone else's
                continue
            cpu_seconds[process.pid] = times.user + times.system
        yield "process_rss_bytes", PROCESS, rss_bytes
        both = cpu_seconds.keys() & self._cpu_seconds.keys()
        if both and seconds > 0:
            used = sum(cpu_seconds[pid] - self._cpu_seconds[pid] for pid in both)
            yield "process_cpu_cores", PROCESS, used / seconds
        self._cpu_seconds = cpu_seconds
