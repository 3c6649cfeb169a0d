"""A program started together with everything it starts, also in sessions of their own: watched, and ended whole.

A program of the tree that must not outlive its parent calls `die_with_parent`; the kernel then ends it, even where the
parent was killed and could end nobody itself.
"""

import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

PR_SET_PDEATHSIG = 1
"""prctl(2), linux/prctl.h."""
GONE_SECONDS = 5.0
"""Our choice: how long the kernel may take to end what was killed, such as a process that holds a GPU."""
LOOK_SECONDS = 0.02


class Tree:
    """A program and its descendants."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    @property
    def ended(self) -> bool:
        """Whether the program itself has ended."""
        return self._process.poll() is not None

    def end(self) -> None:
        """Nothing of the tree is left running, except what the kernel itself cannot stop."""
        tree = [self._process.pid, *descendants(self._process.pid)]
        for pid in tree:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(GONE_SECONDS)
        deadline = time.monotonic() + GONE_SECONDS
        while time.monotonic() < deadline and any(map(is_running, tree)):
            time.sleep(LOOK_SECONDS)


@contextmanager
def started_tree(argv: Sequence[str], environment: Mapping[str, str], printed: Path) -> Iterator[Tree]:
    """The program, in a session of its own; it and all it started are gone afterwards, also after Ctrl-C.

    Args:
        argv: the program and its arguments.
        environment: all of it.
        printed: file that takes both outputs.
    """
    with printed.open("wb") as output:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=dict(environment),
            start_new_session=True,
        )
    tree = Tree(process)
    try:
        yield tree
    finally:
        tree.end()


def descendants(pid: int) -> list[int]:
    """Every process below this one, children before their own children; those whose parent is gone are no longer."""
    children: dict[int, list[int]] = {}
    for place in Path("/proc").glob("[0-9]*"):
        parent = _parent(place)
        if parent is not None:
            children.setdefault(parent, []).append(int(place.name))
    found, waiting = [], [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def is_running(pid: int) -> bool:
    """Whether there is such a process, other than as an entry nobody has taken note of (a zombie)."""
    fields = _stat(Path("/proc") / str(pid))
    return bool(fields) and fields[0] != "Z"


def die_with_parent(parent: int) -> None:
    """From now on the kernel kills this process when the thread that started it ends; at once where it has.

    Args:
        parent: PID of the process that started this one.
    """
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def _parent(place: Path) -> int | None:
    fields = _stat(place)
    return int(fields[1]) if len(fields) > 1 else None


def _stat(place: Path) -> list[str]:
    """Fields of proc(5) stat from the state on; the name before it may hold anything."""
    with suppress(OSError):
        return (place / "stat").read_text(errors="replace").rpartition(")")[2].split()
    return []
