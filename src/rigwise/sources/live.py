"""This machine, asked now. A simulated machine is asked the same way: its files under a root, its commands on PATH."""

import os
import shlex
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from rigwise.records.evidence import Evidence, Status
from rigwise.sources.answers import command_answer, command_key, kernel_log_answer, program_output_answer
from rigwise.sources.commands import run_command
from rigwise.sources.files import read_file
from rigwise.sources.nvml import NVML_LIMIT_SECONDS, Nvml
from rigwise.speech import say

ROOT_VARIABLE = "RIGWISE_ROOT"
"""Environment variable: the folder that stands for / on a simulated machine."""
KERNEL_LOG_LIMIT_SECONDS = 10.0


class LiveSource:
    """The machine rigwise runs on.

    Under another `root` than / it is a simulated machine: a command with a key is then run by that key, so that
    the simulation can answer what depends on the user's interpreter.
    """

    def __init__(self, root: Path | None = None, nvml_limit_seconds: float = NVML_LIMIT_SECONDS) -> None:
        self._root = root or Path(os.environ.get(ROOT_VARIABLE) or "/")
        self._nvml = Nvml(nvml_limit_seconds)

    @property
    def name(self) -> str:
        """`this machine`, or the folder of a simulated one."""
        if self._simulated:
            return say("simulated machine {root}", root=self._root)
        return say("this machine")

    def nvml(self, name: str, gpu: int | None = None) -> Evidence:
        """The answer of one row of nvml_calls.csv."""
        return _timed(lambda: self._nvml.ask(name, gpu))

    def command(self, argv: Sequence[str], *, key: str | None = None, timeout_seconds: float = 10.0) -> Evidence:
        """Standard output of a command; of a failed one, both outputs."""
        name = command_key(argv, key)
        if not argv:
            return command_answer(name, Status.NOT_RECORDED)
        words = shlex.split(name) if self._simulated else argv
        return _timed(lambda: run_command(name, words, timeout_seconds))

    def file(self, path: str) -> Evidence:
        """A file's text, a folder's names, or what a device is to this user."""
        return _timed(lambda: read_file(path, self._root))

    def kernel_log(self) -> Evidence:
        """The kernel log: from `dmesg`, or from the journal where dmesg is for root only."""
        return _timed(_kernel_log)

    def program_output(self) -> Evidence:
        """A machine keeps no record of what its programs printed."""
        return program_output_answer(Status.NOT_SUPPORTED)

    @property
    def _simulated(self) -> bool:
        return self._root != Path("/")


def _kernel_log() -> Evidence:
    dated = run_command("dmesg", ["dmesg", "--time-format", "iso"], KERNEL_LOG_LIMIT_SECONDS)
    old = dated.status is Status.FAILED  # BusyBox knows no dates
    ring = run_command("dmesg", ["dmesg"], KERNEL_LOG_LIMIT_SECONDS) if old else dated
    if ring.status is Status.OK:
        return kernel_log_answer(ring)
    argv = ["journalctl", "-k", "-b", "--no-pager", "-o", "short-iso"]
    journal = run_command("journalctl", argv, KERNEL_LOG_LIMIT_SECONDS)
    if journal.status is Status.OK and "kernel:" in journal.text:
        return kernel_log_answer(journal)
    if "not permitted" in ring.text:  # dmesg: read kernel buffer failed: Operation not permitted
        ring = msgspec.structs.replace(ring, status=Status.NOT_PERMITTED)
    return kernel_log_answer(ring)


def _timed(ask: Callable[[], Evidence]) -> Evidence:
    """The answer, with when it was asked and how long it took."""
    at, began = datetime.now(UTC), time.perf_counter()
    answer = ask()
    return msgspec.structs.replace(
        answer,
        collected_at=at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        duration_seconds=time.perf_counter() - began,
    )
