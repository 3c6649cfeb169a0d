"""The memory a probe fills: the device's own, or, on the CPU, this process's share of the machine's RAM."""

import resource

from rigwise.probes.answers import parsed_line
from rigwise.probes.host.host import KIB, kib_line
from rigwise.sources.live import LiveSource
from rigwise.train.machine import available_ram_bytes
from rigwise.train.step.device import Device, DeviceMemory


def memory_now(device: Device) -> DeviceMemory | None:
    """Memory of the device at this moment; None where neither the device nor /proc tells."""
    return device.memory() or _host_memory()


def _host_memory() -> DeviceMemory | None:
    """RAM as this process may use it, under a container's limit too: what it holds counts as allocated."""
    source = LiveSource()
    free = available_ram_bytes(source)
    total = parsed_line("RAM", source.file("/proc/meminfo"), "MemTotal:", kib_line).value
    held = source.file("/proc/self/statm").text.split()
    if free is None or total is None or len(held) < 2:
        return None
    resident = int(held[1]) * resource.getpagesize()
    peak = max(resident, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIB)
    return DeviceMemory(
        free=free, total=total, allocated=resident, reserved=resident, peak_allocated=peak, peak_reserved=peak
    )
