"""The container engine stores files in a slow way.

What: the storage driver is vfs, which copies every layer whole, devicemapper, or fuse-overlayfs, which goes through a
user process.
Why: reading data and packages inside containers is then much slower than on the host.
How to tell: the storage driver that `docker info` names. Data in a mounted folder is not affected.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.rig import Rig
from rigwise.speech import say

SLOW_DRIVERS = frozenset({"vfs", "devicemapper", "fuse-overlayfs", "aufs"})
"""https://docs.docker.com/engine/storage/drivers/select-storage-driver/: overlay2 is preferred before these."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A note when the storage driver is one of the slow ones."""
    driver = rig.container_engine.storage_driver
    if driver.need() in SLOW_DRIVERS:
        yield Problem(say("Docker stores images and containers with {driver}.", driver=driver.value), (driver,))
