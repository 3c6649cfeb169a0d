"""Docker comes from a snap package.

What: Docker keeps its files under /var/snap.
Why: the snap is confined: NVIDIA's toolkit cannot configure it in /etc/docker, and it sees only some folders.
How to tell: the root folder that `docker info` names.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.rig import Rig
from rigwise.speech import say

SNAP_FOLDERS = ("/var/snap/", "/snap/")


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A note when Docker is the snap."""
    root = rig.container_engine.root_folder
    if root.need().startswith(SNAP_FOLDERS):
        yield Problem(say("Docker lives in {folder}, in the confinement of snap.", folder=root.value), (root,))
