"""One process at a time writes to a run folder."""

import fcntl
import os
from pathlib import Path
from typing import Self

from rigwise.errors import BadInput, CannotWrite
from rigwise.speech import say

LOCK_FILE = "run.lock"


class RunLock:
    """Held as long as it is entered; the kernel lets go of it when the process dies, however it dies.

    A record lock of POSIX: children do not inherit it, and NFS knows it.
    """

    def __init__(self, folder: Path) -> None:
        """Take the lock of this run folder.

        Raises:
            BadInput: a living process holds it.
            CannotWrite: the folder cannot be written.
        """
        path = folder / LOCK_FILE
        try:
            self._file = path.open("a+")
        except OSError as error:
            raise CannotWrite(
                say("cannot write to {folder}", folder=folder),
                error.strerror or str(error),
                say("copy the folder to where you may write, and go on with the copy"),
            ) from error
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.seek(0)
            holder = self._file.read().strip()
            self._file.close()
            raise _in_use(folder, holder) from error
        self._file.truncate(0)
        self._file.write(f"{os.getpid()}\n")
        self._file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.release()

    def release(self) -> None:
        """Let go of it."""
        self._file.close()


def _in_use(folder: Path, holder: str) -> BadInput:
    return BadInput(
        say("{folder} is in use", folder=folder),
        say("process {holder} is writing to it", holder=holder or "?"),
        say("wait until it ends, or end it: kill {holder}", holder=holder or "PID"),
    )
