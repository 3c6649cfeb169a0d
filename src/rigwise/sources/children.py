"""Work done in a process of its own, so that a crash, a hang or a leak there is a result here.

A fork server imports what is heavy once and never touches a GPU; each piece of work gets a fresh fork of it, in a
process group of its own. Whatever happens, the group is killed and its folder removed: also after Ctrl-C. It ends with
this process too, when that is killed.
"""

import multiprocessing
import os
import pickle
import signal
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Protocol

import msgspec

from rigwise.errors import BadInput
from rigwise.speech import say

Tell = Callable[[object], None]
"""Sends one object to the process that waits."""
LAST_SECONDS = 1.0
"""Our choice: what a child may take to end once it has told everything, before it is killed."""
PRINTED_BYTES = 4000
"""Of what the child printed last; a crash in native code says why there, if anywhere."""


class Work(Protocol):
    """What a child does; it is pickled, so it must be importable there."""

    def __call__(self, tell: Tell, folder: Path) -> None:
        """Do it, telling on the way; `folder` is removed afterwards."""


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """How a child ended."""

    exit_code: int | None
    """Negative: the signal that ended it. None: it was ended for its silence."""
    failure: str
    """The traceback of what it raised; "" where it raised nothing."""
    printed: str
    """The last it printed to both outputs."""
    seconds: float


class _Begun(msgspec.Struct, frozen=True):
    """The child's first message: the program's own main module could be imported there."""


class _Raised(msgspec.Struct, frozen=True):
    """The child's last message: what it raised."""

    traceback: str


class _Heard:
    """What the child told of itself."""

    has_begun = False
    traceback = ""


def run_in_child(
    work: Work, *, silence_seconds: float, told: Callable[[Any], None], preload: Sequence[str] = ()
) -> Ending:
    """How the child that did `work` ended; what it tells is handed on as it comes.

    Args:
        work: what to do there.
        silence_seconds: a child that tells nothing for so long is taken for hung, and killed.
        told: takes each object the child tells.
        preload: modules the fork server imports once; none of them may touch a GPU by being imported.

    Raises:
        BadInput: `work` cannot be sent to another process, or the main module cannot be imported there.
    """
    content = _packed(work)
    context = multiprocessing.get_context("forkserver")
    if preload:  # nothing asked for takes nothing from who comes next: one server serves them all
        context.set_forkserver_preload(list(preload))
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="rigwise-", ignore_cleanup_errors=True) as folder:
        reader, writer = context.Pipe(duplex=False)
        child = context.Process(target=_be_child, args=(content, writer, folder), daemon=False)
        try:
            child.start()
            writer.close()
            heard = _listen(reader, child.sentinel, silence_seconds, told)
            child.join(LAST_SECONDS)
            exit_code = child.exitcode
        finally:
            _end(child)
            reader.close()
        if exit_code == 1 and not heard.has_begun:
            raise _cannot_start()
        seconds, printed = time.monotonic() - began, _printed(Path(folder))
        return Ending(exit_code=exit_code, failure=heard.traceback, printed=printed, seconds=seconds)


def _packed(work: Work) -> bytes:
    try:
        return pickle.dumps(work)
    except (pickle.PicklingError, AttributeError, TypeError) as error:  # lambdas, local functions, open files
        raise BadInput(
            say("the training cannot be sent to a child process"),
            str(error).splitlines()[0],
            say("make it of functions and classes at the top level of a module, not of lambdas or local functions"),
        ) from error


def _cannot_start() -> BadInput:
    return BadInput(
        say("the child process cannot start"),
        say("it imports the file that was started, and that fails, or starts the same work again"),
        say('put what the file runs under: if __name__ == "__main__":'),
    )


def _listen(reader: Connection, sentinel: int, silence_seconds: float, told: Callable[[Any], None]) -> _Heard:
    """Hand on what the child tells until it ends or falls silent; what it told of itself."""
    heard = _Heard()
    while reader in wait([reader, sentinel], silence_seconds):
        try:
            message = reader.recv()
        except (EOFError, OSError, pickle.UnpicklingError):  # it was killed, perhaps in the middle of a message
            break
        match message:
            case _Begun():
                heard.has_begun = True
            case _Raised(traceback=text):
                heard.traceback = text
            case _:
                told(message)
    return heard


def _end(child: Any) -> None:
    """Nothing of the child is left running."""
    if child.pid is None:
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    with suppress(ProcessLookupError):
        child.kill()
    child.join()
    child.close()


def _printed(folder: Path) -> str:
    try:
        return (folder / _OUTPUT).read_bytes()[-PRINTED_BYTES:].decode("utf-8", "replace")
    except OSError:
        return ""


_OUTPUT = "output.txt"


def _be_child(content: bytes, writer: Connection, folder: str) -> None:
    """In the child: a group of its own, its output into the folder, then the work."""
    os.setsid()
    _die_with_parent()
    writer.send(_Begun())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    output = os.open(Path(folder) / _OUTPUT, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(output, stream)
    try:
        work: Work = pickle.loads(content)
        work(writer.send, Path(folder))
    except BaseException as error:
        writer.send(_Raised(traceback.format_exc()))
        raise SystemExit(1) from error
    finally:
        writer.close()


def _die_with_parent() -> None:
    """From now on the whole group ends when the process that waits for it does, even if that was killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        wait([parent.sentinel])
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, name="rigwise-parent", daemon=True).start()
