"""Captures with several outputs of nvidia-smi in one file, cut into the answers to its commands."""

import re
from collections.abc import Sequence
from pathlib import Path

from rigwise.records.evidence import Evidence, Status
from rigwise.sources.answers import (
    command_answer,
    command_key,
    file_answer,
    kernel_log_answer,
    nvml_absence,
    program_output_answer,
)

SECTION = re.compile(r"^# \$ nvidia-smi ?([^\n]*)\n#{80}\n", re.MULTILINE)
END = re.compile(r"^#{80}$", re.MULTILINE)
QUERIES = ("--query-gpu", "--query-compute-apps", "pmon", "dmon")


def outputs(capture: Path) -> dict[str, str]:
    """The outputs by command, idle and loaded ones one after the other."""
    text = capture.read_text(encoding="utf-8")
    found: dict[str, str] = {}
    for section in SECTION.finditer(text):
        command = section[1].strip()
        end = END.search(text, section.end())
        key = next((f"nvidia-smi {query}" for query in QUERIES if command.startswith(query)), f"nvidia-smi {command}")
        key = key.strip()
        found[key] = found.get(key, "") + text[section.end() : end.start() if end else len(text)]
    return found


class Answers:
    """A source that holds some answers, as a pasted text does."""

    name = "some answers"

    def __init__(self, commands: dict[str, str], kernel_log: str = "") -> None:
        self._commands = commands
        self._kernel_log = kernel_log

    def nvml(self, name: str, gpu: int | None = None) -> Evidence:
        return nvml_absence(name, gpu, Status.NOT_RECORDED)

    def command(self, argv: Sequence[str], *, key: str | None = None, timeout_seconds: float = 10.0) -> Evidence:
        name = command_key(argv, key)
        if name in self._commands:
            return command_answer(name, Status.OK, self._commands[name], 0)
        return command_answer(name, Status.NOT_RECORDED)

    def file(self, path: str) -> Evidence:
        return file_answer(path, Status.NOT_RECORDED)

    def program_output(self) -> Evidence:
        return program_output_answer(Status.NOT_RECORDED)

    def kernel_log(self) -> Evidence:
        status = Status.OK if self._kernel_log else Status.NOT_RECORDED
        return kernel_log_answer(command_answer("kernel log", status, self._kernel_log))
