"""A disk is nearly full.

What: a file system that holds people's files has hardly any room, or no room for more files.
Why: the next checkpoint, cache or container image fails, often after hours.
How to tell: `df`, in bytes and in inodes. File systems that are full by design (snaps, installation images), tiny or
in memory are left out.
"""

import re
from collections.abc import Iterator

from rigwise.records.finding import Problem, Severity
from rigwise.records.host import FileSystem
from rigwise.records.reading import lacking
from rigwise.records.rig import Rig
from rigwise.speech import say
from rigwise.units import GIB, memory, percent

FULL_RATIO = 0.95
"""Our choice; ext4 keeps 5 % for root by default."""
SMALL_ROOM_BYTES = 10 * GIB
"""Our choice: one checkpoint of a model with a billion parameters and its optimiser takes 12 GiB."""
SMALLEST_BYTES = 4 * GIB
BY_DESIGN = re.compile(r"/(?:snap|boot|efi|run|dev|sys|proc|media|cdrom|mnt/wsl|usr/lib/(?:wsl|modules)|init)(?:/.*)?")
NO_DISK = re.compile(r"(?:dev)?tmpfs|squashfs|iso9660|erofs|udf|udev|shm|none|rootfs|/dev/loop\d+|fuse\..*")


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A warning when hardly any room is left, a note when it is only a large share."""
    reading = rig.storage.file_systems
    known = [one for one in reading.need() if one.used_ratio is not None or one.inodes_used_ratio is not None]
    if not known:
        raise lacking(reading, "room on the file systems")
    full = [one for one in known if _is_full(one)]
    if not full:
        return
    tightest = min(full, key=_room_bytes)
    severity = Severity.WARNING if any(map(_has_little_room, full)) else None
    names = ", ".join(dict.fromkeys(one.mount_point for one in full[:4]))
    because = say(
        "{names}: {share} used, {room} of room on {tightest}.",
        names=names,
        share=percent(max(tightest.used_ratio or 0.0, tightest.inodes_used_ratio or 0.0)),
        room=memory(_room_bytes(tightest)),
        tightest=tightest.mount_point,
    )
    yield Problem(because, (reading,), severity=severity)


def _is_full(one: FileSystem) -> bool:
    if BY_DESIGN.fullmatch(one.mount_point) or NO_DISK.fullmatch(one.type) or NO_DISK.fullmatch(one.device):
        return False
    if one.size_bytes is not None and one.size_bytes < SMALLEST_BYTES:
        return False
    return (one.used_ratio or 0.0) >= FULL_RATIO or (one.inodes_used_ratio or 0.0) >= FULL_RATIO


def _room_bytes(one: FileSystem) -> float:
    return one.room_bytes if one.room_bytes is not None else (one.size_bytes or 0) * (1 - (one.used_ratio or 0.0))


def _has_little_room(one: FileSystem) -> bool:
    inodes_gone = (one.inodes_used_ratio or 0.0) >= FULL_RATIO
    return inodes_gone or ((one.used_ratio or 0.0) >= FULL_RATIO and _room_bytes(one) < SMALL_ROOM_BYTES)
