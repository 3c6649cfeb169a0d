"""/proc/diskstats: one or two looks at every disk (kernel documentation, admin-guide/iostats)."""

import re

from rigwise.records.host import Disk

SECTOR_BYTES = 512
"""The unit of the counters, whatever the disk's own sector."""
PARTITION = re.compile(r"(?:(?:sd|hd|vd|xvd)[a-z]{1,3}\d{1,3}|(?:nvme\d+n\d+|mmcblk\d+)p\d{1,3})")
NO_DISK = re.compile(r"(?:ram|loop|fd|sr|zram|nbd)\d+")
Counters = tuple[int, ...]
"""reads, merged, sectors, ms, writes, merged, sectors, ms, in progress, ms busy, weighted ms."""
NUM_COUNTERS = 11


def looks(text: str) -> list[dict[str, Counters]]:
    """Every look in a text, each with the counters by disk."""
    found: list[dict[str, Counters]] = []
    for line in text.splitlines():
        cells = line.split()
        if len(cells) < 3 + NUM_COUNTERS or not all(cell.isdecimal() for cell in (*cells[:2], *cells[3:14])):
            continue
        name = cells[2]
        if not found or name in found[-1]:
            found.append({})
        found[-1][name] = tuple(int(cell[:20]) for cell in cells[3:14])
    return [{name: counters for name, counters in look.items() if is_disk(name)} for look in found]


def is_disk(name: str) -> bool:
    """Whether a block device is a whole disk, neither a partition nor something in memory.

    >>> [is_disk(name) for name in ("sda", "sda1", "nvme0n1", "nvme0n1p2", "loop3", "md0")]
    [True, False, True, False, False, True]
    """
    return not (PARTITION.fullmatch(name) or NO_DISK.fullmatch(name))


def disks(text: str, seconds: float | None = None) -> tuple[Disk, ...]:
    r"""The disks that were ever used; with two looks `seconds` apart, how busy each one was between them.

    >>> look = "8 0 sda {} 0 {} 40 0 0 0 0 0 {} 90\n"
    >>> disks(look.format(10, 800, 100) + look.format(20, 1600, 600), 1.0)[0].busy_ratio
    0.5
    """
    seen = looks(text)
    if not seen:
        raise ValueError("no disk")
    if seconds is None or len(seen) < 2:
        return tuple(Disk(name=name, queue_length=float(now[8])) for name, now in seen[-1].items() if any(now))
    first, last = seen[0], seen[-1]
    return tuple(_between(name, first[name], now, seconds) for name, now in last.items() if name in first and any(now))


def _between(name: str, before: Counters, now: Counters, seconds: float) -> Disk:
    spent = tuple(max(0, after - earlier) for after, earlier in zip(now, before, strict=True))
    requests = spent[0] + spent[4]
    return Disk(
        name=name,
        busy_ratio=min(1.0, spent[9] / 1000 / seconds),
        wait_seconds=(spent[3] + spent[7]) / 1000 / requests if requests else None,
        queue_length=spent[10] / 1000 / seconds,
        read_bytes_per_second=spent[2] * SECTOR_BYTES / seconds,
        write_bytes_per_second=spent[6] * SECTOR_BYTES / seconds,
    )
