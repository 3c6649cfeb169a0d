"""A disk reads slower than its kind should.

What: measured sequential or random reads are below what the kind of disk gives.
Why: a training run that reads its data from it is held up from the first epoch on.
How to tell: fio, or the active probe of `--deep`, against the kind of disk where it is known. Where the page cache was
not avoided the true speed is lower still, never higher.
"""

import re
from collections.abc import Iterator

from rigwise.records.deep import DiskSpeed
from rigwise.records.finding import Problem
from rigwise.records.reading import Reading, lacking
from rigwise.records.rig import Rig
from rigwise.speech import say
from rigwise.units import significant

MEGABYTE = 1e6
SLOW_BYTES_PER_SECOND = 100e6
"""Our choice: a healthy rotating disk reads 150 to 250 MB/s, a SATA disk 500, and small cloud volumes at least 100."""
SLOW_NVME_BYTES_PER_SECOND = 700e6
"""Our choice: NVMe disks on two old PCIe lanes still read 1,000 MB/s and more."""
RENTED = ("Elastic Block Store", "nvme_card-pd", "MSFT NVMe")
"""Models of network volumes that clouds show as NVMe disks; what they read is what was rented (AWS gp3: 125 MB/s)."""
SLOW_READS_PER_SECOND = 1000.0
"""Our choice: one request at a time, flash disks serve 5,000 and more, network volumes 1,000 to 2,000, rotating
disks 70 to 200."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A warning for slow sequential reads, a note for slow single reads."""
    reading = measured(rig)
    speed = reading.need()
    large, small = speed.sequential_read_bytes_per_second, speed.random_reads_per_second
    if large is None and small is None:
        raise lacking(reading, "disk speed")
    if large is not None and large < _expected(rig, speed):
        because = say(
            "It reads {speed} MB/s in sequence; {expected} MB/s and more are usual for its kind.",
            speed=significant(large / MEGABYTE),
            expected=significant(_expected(rig, speed) / MEGABYTE),
        )
        yield Problem(because, (reading,))
    elif small is not None and small < SLOW_READS_PER_SECOND:
        yield _few_reads(reading, small)


def _few_reads(reading: Reading[DiskSpeed], per_second: float) -> Problem:
    because = say("It serves {count} random reads of 4 KiB per second.", count=significant(per_second))
    action = say("Pack small files into large shards that are read in sequence, or move the data to a flash disk.")
    return Problem(because, (reading,), action=action)


def measured(rig: Rig) -> Reading[DiskSpeed]:
    """The speed of the disk, by whoever measured it."""
    return rig.deep.disk_speed if rig.deep.disk_speed.present else rig.storage.measured


def _expected(rig: Rig, speed: DiskSpeed) -> float:
    """Bytes per second that the measured disk should reach, by its kind where that is known."""
    disk = re.sub(r"p\d+$", "", _device(rig, speed).removeprefix("/dev/"))
    rented = any(word in one.model for one in rig.storage.disks.value or () for word in RENTED if one.name == disk)
    return SLOW_NVME_BYTES_PER_SECOND if disk.startswith("nvme") and not rented else SLOW_BYTES_PER_SECOND


def _device(rig: Rig, speed: DiskSpeed) -> str:
    """What was measured; recordings of older versions leave out that it was the disk of the current folder."""
    place = rig.storage.working_place.value
    own = speed.tool and speed.folder_type and place is not None
    return speed.device or (place.device if own and place is not None else "")
