"""Which driver a CUDA family needs, and until when NVIDIA supports each driver branch. Two tables, read once."""

import csv
from collections.abc import Iterator
from functools import cache
from importlib import resources

import msgspec

BRANCH_SPAN = 5
"""Windows numbers a branch upwards from its first release (R535: 535.98 to 538.95), always under the next five."""


class DriverFloor(msgspec.Struct, frozen=True):
    """The oldest driver on which any CUDA of one major version runs (minor-version compatibility)."""

    cuda_major: int
    floor_linux: str
    floor_windows: str
    source: str
    checked_on: str


class DriverBranch(msgspec.Struct, frozen=True):
    """One driver branch and its end of life."""

    branch: int
    kind: str
    """`production`, `long term support`, `new feature`; "" where NVIDIA only says that it has ended."""
    supported_until: str
    """YYYY-MM: the last month of support, or the month by which NVIDIA called it ended."""
    source: str
    checked_on: str


@cache
def driver_floors() -> dict[int, DriverFloor]:
    """The floor of each CUDA major version."""
    floors = [msgspec.convert(row, DriverFloor, strict=False) for row in _rows("driver_floors.csv")]
    return {floor.cuda_major: floor for floor in floors}


@cache
def driver_branches() -> tuple[DriverBranch, ...]:
    """Every branch whose end of life is known, oldest first."""
    branches = [msgspec.convert(row, DriverBranch, strict=False) for row in _rows("driver_branches.csv")]
    return tuple(sorted(branches, key=lambda branch: branch.branch))


def driver_branch(version: str) -> DriverBranch | None:
    """The branch of a driver version, None when its end of life is not known.

    >>> driver_branch("570.124.06").branch, driver_branch("536.40").branch, driver_branch("591.86")
    (570, 535, None)
    """
    major = version_numbers(version)[0]
    known = [branch for branch in driver_branches() if branch.branch <= major < branch.branch + BRANCH_SPAN]
    return known[-1] if known else None


def version_numbers(version: str) -> tuple[int, ...]:
    """A dotted version as numbers, to compare.

    >>> version_numbers("525.60.13") >= version_numbers("525.60"), version_numbers("580.65.06") < version_numbers("580")
    (True, False)
    """
    return tuple(int(part) for part in version.split("."))


def _rows(name: str) -> Iterator[dict[str, str]]:
    text = resources.files("rigwise.knowledge").joinpath(name).read_text(encoding="utf-8")
    return csv.DictReader(text.splitlines())
