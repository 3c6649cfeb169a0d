"""What this process may use: cores and RAM, as affinity and control groups allow, and disks. No torch."""

import os
from pathlib import Path

from rigwise.probes.answers import parsed_line
from rigwise.probes.host.control_group import memory_limit, quota_cpus
from rigwise.probes.host.host import kib_line
from rigwise.sources.live import LiveSource
from rigwise.sources.source import Source


def usable_cores(source: Source | None = None) -> int:
    """CPU cores this process may keep busy: fewer than the machine has under an affinity or a CPU quota."""
    quota = quota_cpus(source or LiveSource()).value
    allowed = len(os.sched_getaffinity(0))
    return allowed if quota is None else max(1, int(min(quota, allowed)))


def available_ram_bytes(source: Source | None = None) -> int | None:
    """RAM this process may still take, under its control group's limit too; None when it cannot be told."""
    live = source or LiveSource()
    available = parsed_line("available RAM", live.file("/proc/meminfo"), "MemAvailable:", kib_line).value
    group = memory_limit(live)
    if available is None:
        return None
    limit, used = group.limit_bytes.value, group.used_bytes.value
    return int(min(available, limit - used)) if limit is not None and used is not None else available


def free_disk_bytes(folder: Path) -> int | None:
    """What is free on the disk of `folder`, which need not exist yet; None when it cannot be told."""
    try:
        there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        disk = os.statvfs(there)
    except (OSError, StopIteration):
        return None
    return disk.f_bavail * disk.f_frsize
