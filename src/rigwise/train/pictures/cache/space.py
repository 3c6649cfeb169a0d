"""Whether decoded pictures fit on the disk and in the page cache, in bytes."""

from pathlib import Path

import msgspec

from rigwise.sources.source import Source
from rigwise.speech import say
from rigwise.train.machine import available_ram_bytes, free_disk_bytes
from rigwise.units import GIB, memory, percent

RAM_SHARE = 0.5
"""Of the available RAM. Our choice: the other half is for training itself, its checkpoints and other programs; pages
that do not stay in RAM are read from disk in every epoch, which costs more than decoding on a slow one."""

DISK_LEFT_BYTES = 2 * GIB
"""Stays free. Our choice: run folders, checkpoints and logs of a day."""


class Space(msgspec.Struct, frozen=True, kw_only=True):
    """What is free; None where it cannot be told."""

    disk_bytes: int | None
    ram_bytes: int | None
    """Available to this process: of the machine, and under the memory limit of its control group."""


def read_space(source: Source, folder: Path) -> Space:
    """What is free on the disk of `folder`, which need not exist yet, and in RAM."""
    return Space(disk_bytes=free_disk_bytes(folder), ram_bytes=available_ram_bytes(source))


def why_no_room(needed_bytes: int, there_bytes: int, space: Space) -> str | None:
    """Why `needed_bytes` of pixels, of which `there_bytes` are on the disk already, do not fit; None when they do."""
    if space.disk_bytes is None or space.ram_bytes is None:
        return say("free disk or RAM cannot be told here")
    disk_bytes = max(0, space.disk_bytes - DISK_LEFT_BYTES)
    if needed_bytes - there_bytes > disk_bytes:
        return say(
            "the decoded pictures take another {needed} of disk, and {free} of {all} free may be used",
            needed=memory(needed_bytes - there_bytes),
            free=memory(disk_bytes),
            all=memory(space.disk_bytes),
        )
    if needed_bytes > RAM_SHARE * space.ram_bytes:
        return say(
            "the decoded pictures take {needed} of page cache, over {share} of the {free} of RAM available",
            needed=memory(needed_bytes),
            share=percent(RAM_SHARE),
            free=memory(space.ram_bytes),
        )
    return None
