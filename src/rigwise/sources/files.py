"""Reads one file of the machine for evidence: bounded in size and time; never opens a device, pipe or socket."""

import os
import stat
from functools import partial
from pathlib import Path

from rigwise.records.evidence import Evidence, Status
from rigwise.sources.answers import file_answer
from rigwise.sources.time_limit import within

MAX_FILE_BYTES = 4 * 2**20
FILE_LIMIT_SECONDS = 5.0
"""Reading /proc takes well under a millisecond; only a dead network file system needs seconds."""


def read_file(path: str, root: Path, limit_seconds: float = FILE_LIMIT_SECONDS) -> Evidence:
    """The text of `path` under `root`; of a folder its sorted names, of a device what this user may do with it."""
    try:
        text = within(limit_seconds, partial(_describe, root / path.lstrip("/")))
    except TimeoutError:
        return file_answer(path, Status.TIMED_OUT)
    except PermissionError:
        return file_answer(path, Status.NOT_PERMITTED)
    except (FileNotFoundError, NotADirectoryError):
        return file_answer(path, Status.NOT_FOUND)
    except OSError as failure:
        return file_answer(path, Status.FAILED, failure.strerror or str(failure))
    return file_answer(path, Status.OK, text)


def _describe(path: Path) -> str:
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        return "\n".join(sorted(os.listdir(path)))
    if stat.S_ISREG(mode):
        with path.open("rb") as file:
            return file.read(MAX_FILE_BYTES).decode("utf-8", "replace")
    return f"{_kind(mode)}, {_access(path)}"


def _kind(mode: int) -> str:
    kinds = {stat.S_IFCHR: "character device", stat.S_IFBLK: "block device", stat.S_IFIFO: "pipe"}
    return kinds.get(stat.S_IFMT(mode), "socket")


def _access(path: Path) -> str:
    readable, writable = os.access(path, os.R_OK), os.access(path, os.W_OK)
    if readable and writable:
        return "readable and writable"
    return f"{'readable' if readable else 'not readable'}, {'writable' if writable else 'not writable'}"
