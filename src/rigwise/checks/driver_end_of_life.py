"""The driver's branch gets no more fixes.

What: NVIDIA's support for this driver branch had ended when the evidence was taken.
Why: security fixes and fixes for new frameworks only reach supported branches.
How to tell: the driver's version against knowledge/driver_branches.csv, at the date of the evidence.
"""

from collections.abc import Iterator

from rigwise.knowledge.drivers import DriverBranch, driver_branch, driver_floors, version_numbers
from rigwise.records.evidence import Status
from rigwise.records.finding import Problem
from rigwise.records.reading import AbsentReading, Reading
from rigwise.records.rig import Rig
from rigwise.speech import say


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A note when the branch has ended."""
    version = rig.driver_version.need()
    branch = driver_branch(version)
    if not rig.collected_on:
        raise AbsentReading(_missing(rig, say("date of the evidence"), Status.NOT_RECORDED))
    if branch is not None and rig.collected_on[:7] > branch.supported_until:
        yield Problem(_because(branch, version), (rig.driver_version,))
    elif branch is None or not branch.kind:
        raise AbsentReading(_missing(rig, say("end of support of this driver branch"), Status.NOT_FOUND))


def _missing(rig: Rig, name: str, status: Status) -> Reading[str]:
    return Reading(name, None, status, rig.driver_version.quote)


def _because(branch: DriverBranch, version: str) -> str:
    ended = say("Support for branch R{branch} ended by {until}.", branch=branch.branch, until=branch.supported_until)
    too_new = [
        floor.cuda_major
        for floor in driver_floors().values()
        if version_numbers(version) < version_numbers(floor.floor_linux)
    ]
    if not too_new:
        return ended
    families = ", ".join(f"{major}.x" for major in too_new)
    return ended + " " + say("Frameworks built for CUDA {families} do not run on it.", families=families)
