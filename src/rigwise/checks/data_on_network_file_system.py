"""The current folder is on a network file system.

What: files here come over the network, one request after the other.
Why: many small files are slow however fast the network is; data that is read again and again is better kept near.
How to tell: the type of the file system. Parallel file systems of computing centres are made for this, and stay
unmentioned.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.rig import Rig
from rigwise.speech import say

NETWORK_TYPES = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "fuse.sshfs", "fuse.s3fs", "fuse.gcsfuse"})


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A note when the current folder is on one."""
    place = rig.storage.working_place.need()
    if place.type in NETWORK_TYPES:
        because = say("{folder} is mounted over the network ({type}).", folder=place.mount_point, type=place.type)
        yield Problem(because, (rig.storage.working_place,))
