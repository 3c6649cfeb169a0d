"""What rigwise raises for its users: one family, each with what, why and the next step.

RigwiseError                 exit 2 unless a subclass says otherwise
├── BadInput                 exit 2: a file, folder, recipe or option cannot be used
├── CannotWrite              exit 1: the machine refused (read-only, full disk)
├── CannotTell               exit 3: nothing could be read, so nothing can be concluded
└── OwnFault                 exit 70: rigwise itself failed

Foreign exceptions become these where they arise; only `cli/main.py` catches them.
"""

from enum import IntEnum


class ExitCode(IntEnum):
    """What the `rigwise` process returns; stable, documented in the README."""

    GO = 0
    PROBLEM = 1
    USAGE = 2
    CANNOT_TELL = 3
    BUG = 70
    """rigwise itself failed; EX_SOFTWARE of sysexits.h."""
    INTERRUPTED = 130


class RigwiseError(Exception):
    """One clear error: what went wrong, why, and one next step."""

    exit_code = ExitCode.USAGE

    def __init__(self, what: str, why: str, next_step: str) -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.next_step = next_step


class BadInput(RigwiseError):
    """A file, folder, recipe or option that cannot be used."""


class CannotWrite(RigwiseError):
    """The machine refused a write: read-only folder, full disk."""

    exit_code = ExitCode.PROBLEM


class OwnFault(RigwiseError):
    """rigwise itself failed, in a way nobody foresaw."""

    exit_code = ExitCode.BUG


class CannotTell(RigwiseError):
    """Nothing could be read, so nothing can be concluded."""

    exit_code = ExitCode.CANNOT_TELL
