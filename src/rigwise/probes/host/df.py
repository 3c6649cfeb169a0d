"""Output of `df`, with any of -h, -T, -i, -P and in any language."""

import re

import msgspec

from rigwise.probes.host.columns import size_bytes
from rigwise.records.host import FileSystem

INODES = re.compile(r"i-?nod", re.IGNORECASE)
SHARE = re.compile(r"(\d{1,3})%|-")
KIB = 1024
KERNEL_TYPES = re.compile(
    "autofs|binfmt_misc|bpf|cgroup2?|configfs|debugfs|devpts|devtmpfs|efivarfs|fusectl|hugetlbfs|mqueue|nsfs|proc|"
    "pstore|ramfs|rpc_pipefs|securityfs|sysfs|tracefs"
)
"""Types of file systems that hold no files of people."""
_MOUNTED = re.compile(r"^\s*(\S+) on (/\S*) type (\S+) (?=\()")
"""As `mount` writes it."""


def file_systems(text: str) -> tuple[FileSystem, ...]:
    """Every file system, with its share of inodes where `df -i` is there too.

    >>> file_systems('''Dateisystem    Typ  1K-Blöcke   Benutzt Verfügbar Verw% Eingehängt auf
    ... /dev/nvme0n1p2 ext4 960302096 902302096   9145288   99% /''')[0].used_ratio
    0.99
    """
    found: dict[str, FileSystem] = {}
    counts_inodes = False
    unit = KIB
    for line in text.splitlines():
        parsed = _line(line, unit)
        if parsed is None:
            counts_inodes = bool(INODES.search(line)) if line.strip() else counts_inodes
            unit = 2**20 if "1M-" in line else unit
            continue
        known = found.get(parsed.mount_point)
        if counts_inodes:
            base = known or msgspec.structs.replace(parsed, size_bytes=None, room_bytes=None, used_ratio=None)
            parsed = msgspec.structs.replace(base, inodes_used_ratio=parsed.used_ratio)
        elif known is not None:
            parsed = msgspec.structs.replace(parsed, inodes_used_ratio=known.inodes_used_ratio)
        found[parsed.mount_point] = parsed
    if not found:
        raise LookupError("file system")
    return tuple(found.values())


def _line(line: str, unit: int) -> FileSystem | None:
    """One file system; None for headlines and everything else. The share in % separates sizes from mount point."""
    cells = line.split()
    share = next((n for n, cell in enumerate(cells) if n >= 4 and SHARE.fullmatch(cell)), None)
    if share is None or share + 1 >= len(cells) or not cells[share + 1].startswith("/"):
        return None
    try:
        size, room = size_bytes(cells[share - 3], unit), size_bytes(cells[share - 1], unit)
    except ValueError:
        return None
    before = cells[: share - 3]
    return FileSystem(
        mount_point=" ".join(cells[share + 1 :]),
        device=before[0],
        type=before[1] if len(before) > 1 else "",
        size_bytes=size,
        room_bytes=room,
        used_ratio=None if cells[share] == "-" else int(cells[share].rstrip("%")) / 100,
    )


def mounts(text: str) -> tuple[FileSystem, ...]:
    r"""The file systems of /proc/mounts, or of `mount`, without the kernel's own.

    >>> [one.type for one in mounts("proc /proc proc rw 0 0\nserver:/data /data nfs4 rw,vers=4.2 0 0\n")]
    ['nfs4']
    >>> mounts("/dev/sda2 on /data type ext4 (rw,relatime)")[0].mount_point
    '/data'
    """
    rows = [_MOUNTED.sub(r"\1 \2 \3 ", line).split() for line in text.splitlines()]
    found = [
        FileSystem(mount_point=row[1], device=row[0], type=row[2])
        for row in rows
        if len(row) >= 4 and row[1].startswith("/") and (row[0].startswith("/") or ":" in row[0] or row[0] == row[2])
    ]
    return tuple(one for one in found if not KERNEL_TYPES.fullmatch(one.type))
