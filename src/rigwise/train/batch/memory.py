"""The memory a probe fills: the device's own, or, on the CPU, this process's share of the machine's RAM."""

import math
import resource
import time
from pathlib import Path

from rigwise.probes.answers import parsed_line
from rigwise.probes.host.host import KIB, kib_line
from rigwise.sources.live import LiveSource
from rigwise.train.machine import available_ram_bytes
from rigwise.train.step.device import Device, DeviceMemory

FREE_SECONDS = 1.0
"""Our choice: free RAM and its limits are read so often. They take 4 ms, longer than many a step; a process's own share
takes a hundredth of that and is read after every step."""
OWN_SHARE = Path("/proc/self/statm")


def memory_now(device: Device) -> DeviceMemory | None:
    """Memory of the device at this moment; None where neither the device nor /proc tells."""
    return MemoryGauge(device).read()


class MemoryGauge:
    """Reads the memory of one device again and again."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._read_at = -math.inf
        self._free: int | None = None
        self._total: int | None = None

    def read(self) -> DeviceMemory | None:
        """Memory of the device now; None where neither the device nor /proc tells."""
        return self._device.memory() or self._of_host()

    def _of_host(self) -> DeviceMemory | None:
        """RAM as this process may use it, under a container's limit too: what it holds counts as allocated."""
        if time.monotonic() - self._read_at >= FREE_SECONDS:
            self._read_machine()
        resident = _resident_bytes()
        if self._free is None or self._total is None or resident is None:
            return None
        peak = max(resident, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIB)
        return DeviceMemory(
            free=self._free,
            total=self._total,
            allocated=resident,
            reserved=resident,
            peak_allocated=peak,
            peak_reserved=peak,
        )

    def _read_machine(self) -> None:
        source = LiveSource()
        self._free = available_ram_bytes(source)
        self._total = parsed_line("RAM", source.file("/proc/meminfo"), "MemTotal:", kib_line).value
        self._read_at = time.monotonic()


def _resident_bytes() -> int | None:
    """Of this process, shared pages counted; None without /proc."""
    try:
        return int(OWN_SHARE.read_text().split()[1]) * resource.getpagesize()
    except (OSError, IndexError, ValueError):
        return None
