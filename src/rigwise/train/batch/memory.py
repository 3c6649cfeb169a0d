"""The memory a probe fills: the device's own, or, on the CPU, this process's share of the machine's RAM."""

import resource

from rigwise.sources.live import LiveSource
from rigwise.train.step.device import Device, DeviceMemory

KIB = 2**10


def memory_now(device: Device) -> DeviceMemory | None:
    """Memory of the device at this moment; None where neither the device nor /proc tells."""
    return device.memory() or _host_memory()


def _host_memory() -> DeviceMemory | None:
    """RAM as this process sees it: what it holds counts as allocated."""
    source = LiveSource()
    fields = dict(line.split(":", 1) for line in source.file("/proc/meminfo").text.splitlines() if ":" in line)
    held = source.file("/proc/self/statm").text.split()
    try:
        free, total = (int(fields[name].split()[0]) * KIB for name in ("MemAvailable", "MemTotal"))
        resident = int(held[1]) * resource.getpagesize()
    except (LookupError, ValueError):
        return None
    peak = max(resident, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIB)
    return DeviceMemory(
        free=free, total=total, allocated=resident, reserved=resident, peak_allocated=peak, peak_reserved=peak
    )
