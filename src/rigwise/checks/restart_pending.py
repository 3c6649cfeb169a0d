"""The next restart changes the stack.

What: the NVIDIA kernel module on disk has another version than the loaded one, or updated packages of the driver or
the kernel wait for a restart.
Why: what runs today is not what runs after the next restart: a baseline measured now says nothing about it, and a
program that is started meanwhile may meet library and module of different versions.
How to tell: `modinfo nvidia` beside /proc/driver/nvidia/version; /run/reboot-required.pkgs on Debian and Ubuntu.
"""

import re
from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.rig import Rig
from rigwise.speech import say

OF_THE_STACK = re.compile(r"nvidia|cuda|^linux-(image|base|modules)")


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A note for another module on disk, or for packages that wait."""
    loaded, on_disk = rig.kernel_driver_version, rig.stack.module_on_disk
    if loaded.present and on_disk.present and loaded.need() != on_disk.need():
        because = say(
            "Driver {loaded} is loaded, {on_disk} is installed: the next restart changes it.",
            loaded=loaded.need(),
            on_disk=on_disk.need(),
        )
        yield Problem(because, (loaded, on_disk))
        return
    waiting = [name for name in rig.stack.restart_packages.value_or(()) if OF_THE_STACK.search(name)]
    if waiting:
        yield Problem(
            say("Updated and not yet in use: {names}.", names=", ".join(waiting)), (rig.stack.restart_packages,)
        )
        return
    loaded.need()
    on_disk.need()
