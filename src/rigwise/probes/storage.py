"""File systems and disks, from /proc, /sys or pasted df, iostat and fio."""

from rigwise.records.host import Storage
from rigwise.sources.source import Source


def read_storage(source: Source) -> Storage:
    """The disks of the machine."""
    return Storage()
