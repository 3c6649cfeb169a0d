"""A machine as far as pasted texts tell of it."""

from collections.abc import Sequence

from rigwise.records.evidence import Evidence, Status
from rigwise.sources.answers import (
    command_answer,
    command_key,
    file_answer,
    kernel_log_answer,
    nvml_absence,
    program_output_answer,
)
from rigwise.sources.recognition.pieces import Pieces


class PastedSource:
    """Answers from recognised texts; everything else was not recorded."""

    def __init__(self, name: str, pieces: Pieces) -> None:
        self._name = name
        self._pieces = pieces

    @property
    def name(self) -> str:
        """The file's name, or `standard input`."""
        return self._name

    def nvml(self, name: str, gpu: int | None = None) -> Evidence:
        """Not recorded: no text holds NVML's own answers."""
        return nvml_absence(name, gpu, Status.NOT_RECORDED)

    def command(self, argv: Sequence[str], *, key: str | None = None, timeout_seconds: float = 10.0) -> Evidence:
        """The recognised output of the command."""
        name = command_key(argv, key)
        text = self._pieces.commands.get(name)
        return command_answer(name, Status.NOT_RECORDED if text is None else Status.OK, text or "")

    def file(self, path: str) -> Evidence:
        """The recognised text of the file."""
        text = self._pieces.files.get(path)
        return file_answer(path, Status.NOT_RECORDED if text is None else Status.OK, text or "")

    def kernel_log(self) -> Evidence:
        """The recognised kernel log."""
        log = self._pieces.kernel_log
        return kernel_log_answer(command_answer("", Status.NOT_RECORDED if log is None else Status.OK, log or ""))

    def program_output(self) -> Evidence:
        """What is left when everything else was recognised."""
        text = self._pieces.program_output
        return program_output_answer(Status.NOT_RECORDED if text is None else Status.OK, text or "")
