"""Runs one reading command: bounded in time and output, alone in its process group, without a terminal."""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import IO

from rigwise.records.evidence import Evidence, Status
from rigwise.sources.answers import command_answer

MAX_OUTPUT_BYTES = 4 * 2**20
"""What is kept of each output stream: its beginning, which describes, and its end, which of a log is the newest."""
LEFT_OUT = b"\n[... rigwise left out what was between ...]\n"


class _Kept:
    """The first and the last half of what a stream gives, in bounded memory."""

    def __init__(self) -> None:
        self._first, self._last = bytearray(), bytearray()
        self._is_cut = False

    def add(self, chunk: bytes) -> None:
        room = MAX_OUTPUT_BYTES // 2 - len(self._first)
        self._first += chunk[:room]
        self._last += chunk[room:]
        if len(self._last) > MAX_OUTPUT_BYTES:
            self._shorten()

    def text(self) -> str:
        """Both halves; where something was left out between them, a line that says so."""
        if len(self._last) > MAX_OUTPUT_BYTES // 2:
            self._shorten()
        content = self._first + (LEFT_OUT if self._is_cut else b"") + self._last
        return content.decode("utf-8", "replace")

    def _shorten(self) -> None:
        """Drops what is older than the last half, up to the end of a line."""
        start = len(self._last) - MAX_OUTPUT_BYTES // 2
        line_end = self._last.find(b"\n", start)
        del self._last[: line_end + 1 if line_end >= 0 else start]
        self._is_cut = True


def run_command(key: str, argv: Sequence[str], timeout_seconds: float) -> Evidence:
    """Standard output of a command that ended well; both outputs of one that failed."""
    try:
        process = _start(argv)
    except FileNotFoundError:
        return command_answer(key, Status.NOT_FOUND)
    except PermissionError:
        return command_answer(key, Status.NOT_PERMITTED)
    except OSError as failure:
        return command_answer(key, Status.FAILED, str(failure))
    deadline = time.monotonic() + timeout_seconds
    try:
        output, errors = _read(process, deadline)
        exit_status = process.wait(max(0.0, deadline - time.monotonic()))
    except (TimeoutError, subprocess.TimeoutExpired):
        return command_answer(key, Status.TIMED_OUT)
    finally:
        _end(process)
    if exit_status == 0:
        return command_answer(key, Status.OK, output, 0)
    return command_answer(key, Status.FAILED, output + errors, exit_status)


def _start(argv: Sequence[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"LC_ALL": "C"},
        start_new_session=True,
    )


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    assert process.stdout is not None
    assert process.stderr is not None
    return process.stdout, process.stderr


def _read(process: subprocess.Popen[bytes], deadline: float) -> tuple[str, str]:
    """Both outputs as text, read together so that neither pipe fills up and blocks the command."""
    pipes = _pipes(process)
    kept = _Kept(), _Kept()
    with selectors.DefaultSelector() as selector:
        for pipe, buffer in zip(pipes, kept, strict=True):
            selector.register(pipe, selectors.EVENT_READ, buffer)
        while selector.get_map():
            ready = selector.select(max(0.0, deadline - time.monotonic()))
            if time.monotonic() >= deadline:
                raise TimeoutError
            for key, _events in ready:
                chunk = os.read(key.fd, 65536)
                key.data.add(chunk)
                if not chunk:
                    selector.unregister(key.fileobj)
    return kept[0].text(), kept[1].text()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Nothing of the command is left running, except what the kernel itself cannot stop."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(1.0)
    for pipe in _pipes(process):
        pipe.close()
