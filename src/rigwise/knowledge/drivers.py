"""Which driver a CUDA version needs or came with, until when a driver branch is supported, how a driver is installed.

Four tables, read once.
"""

import csv
import re
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


class ToolkitDriver(msgspec.Struct, frozen=True):
    """The driver that a CUDA toolkit came with: the oldest one that shows this CUDA version."""

    cuda: str
    driver_linux: str
    driver_windows: str
    """"" since toolkits for Windows come without a driver."""
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


@cache
def toolkit_drivers() -> tuple[ToolkitDriver, ...]:
    """The driver of each toolkit, newest first."""
    return tuple(msgspec.convert(row, ToolkitDriver) for row in _rows("toolkit_drivers.csv"))


def cuda_of_driver(version: str) -> tuple[int, int] | None:
    """The CUDA version that a Linux driver shows, as far as the table goes; None for a driver older than it.

    >>> cuda_of_driver("550.54.14"), cuda_of_driver("535.129.03"), cuda_of_driver("304.137")
    ((12, 4), (12, 2), None)
    """
    numbers = version_numbers(version)
    for toolkit in toolkit_drivers():
        if numbers >= version_numbers(toolkit.driver_linux):
            major, minor = version_numbers(toolkit.cuda)
            return major, minor
    return None


def needed_driver(cuda: str, *, windows: bool = False) -> str | None:
    """The oldest driver on which a CUDA version runs; None for one that no table knows.

    From CUDA 11 on it is the floor of the major version; before, the driver that the toolkit came with.

    >>> needed_driver("12.6"), needed_driver("13"), needed_driver("10.1"), needed_driver("99.0")
    ('525.60.13', '580', '418.39', None)
    """
    floor = driver_floors().get(version_numbers(cuda)[0])
    if floor is not None:
        return floor.floor_windows if windows else floor.floor_linux
    came_with = next((toolkit for toolkit in toolkit_drivers() if toolkit.cuda == cuda), None)
    if came_with is None:
        return None
    return came_with.driver_windows if windows else came_with.driver_linux


def driver_branch(version: str) -> DriverBranch | None:
    """The branch of a driver version, None when its end of life is not known.

    >>> driver_branch("570.124.06").branch, driver_branch("536.40").branch, driver_branch("591.86")
    (570, 535, None)
    """
    major = version_numbers(version)[0]
    known = [branch for branch in driver_branches() if branch.branch <= major < branch.branch + BRANCH_SPAN]
    return known[-1] if known else None


@cache
def _driver_installs() -> tuple[tuple[str, str], ...]:
    """Words of a system's name, and the command that installs the driver there; the sources were not read again."""
    return tuple((row["system"], row["command"]) for row in _rows("driver_installs.csv"))


def driver_install_commands(os_name: str | None) -> tuple[str, ...]:
    """How the driver is installed on this system, () for one that no row knows.

    >>> driver_install_commands("Ubuntu 24.04.1 LTS"), driver_install_commands(None)
    (('sudo ubuntu-drivers install',), ())
    """
    words = (os_name or "").lower()
    return tuple(command for system, command in _driver_installs() if system in words)[:1]


def version_numbers(version: str) -> tuple[int, ...]:
    """A dotted version as numbers, to compare.

    >>> version_numbers("525.60.13") >= version_numbers("525.60"), version_numbers("580.65.06") < version_numbers("580")
    (True, False)
    """
    return tuple(int(part) for part in re.findall(r"\d+", version)) or (0,)


def _rows(name: str) -> Iterator[dict[str, str]]:
    text = resources.files("rigwise.knowledge").joinpath(name).read_text(encoding="utf-8")
    return csv.DictReader(text.splitlines())
