"""The current folder is on a Windows drive, seen from WSL.

What: files here go through a bridge between Linux and Windows.
Why: opening a file takes many times longer than on WSL's own disk, and a loader opens thousands.
How to tell: WSL, and the type of the file system (`9p`, `drvfs`, `v9fs`) of a drive below /mnt.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.rig import Rig
from rigwise.speech import say

BRIDGED_TYPES = frozenset({"9p", "drvfs", "v9fs", "virtiofs"})


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A note when the current folder is on one."""
    place = rig.storage.working_place.need()
    if place.type in BRIDGED_TYPES and place.mount_point.startswith("/mnt/") and rig.host.wsl.need():
        because = say("{folder} is a drive of Windows ({type}).", folder=place.mount_point, type=place.type)
        yield Problem(because, (rig.storage.working_place, rig.host.wsl))
