"""A machine as an evidence folder holds it; answers as the machine did when it was recorded."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import msgspec

from rigwise.knowledge.nvml_calls import HANDLE, INIT
from rigwise.records.evidence import Evidence, Status
from rigwise.sources import layout
from rigwise.sources.answers import (
    command_answer,
    command_key,
    file_answer,
    kernel_log_answer,
    nvml_absence,
    nvml_answer,
    program_output_answer,
)

Question = tuple[int | None, str]


class NvmlRow(msgspec.Struct, frozen=True):
    """One row of nvml.tsv: what each call answers, the last one again and again."""

    codes: tuple[int | Status, ...]
    """Return codes; a status where no code ever came."""
    values: tuple[str, ...]

    def at(self, num_calls: int) -> tuple[int | Status, str]:
        """The return code and value of the n-th call, counted from 0.

        >>> row = NvmlRow((0,), ("83", "85", "91"))
        >>> [row.at(n)[1] for n in range(4)]
        ['83', '85', '91', '91']
        """
        return (
            self.codes[min(num_calls, len(self.codes) - 1)],
            self.values[min(num_calls, len(self.values) - 1)],
        )


class RecordedSource:
    """The evidence of a run folder, or an evidence folder itself.

    Raises:
        ValueError: a table of the folder does not follow `layout`.
    """

    def __init__(self, folder: Path, name: str | None = None) -> None:
        self._folder = evidence_folder(folder)
        self._name = name or str(folder)
        self._nvml = {
            (None if gpu == "-" else int(gpu), key): _nvml_row(codes, values)
            for gpu, key, codes, values in layout.read_rows(self._folder / layout.NVML, 4)
        }
        self._commands = {
            key: self._recorded_command(key, *cells)
            for key, *cells in layout.read_rows(self._folder / layout.COMMAND_INDEX, 5)
        }
        self._files = {
            path: (Status(status), text) for path, status, text in layout.read_rows(self._folder / layout.FILE_INDEX, 3)
        }
        when = self._folder / layout.COLLECTED_AT
        self._collected_at = _read(when).strip() if when.is_file() else ""
        self._num_calls: Counter[Question] = Counter()
        self._hung = False

    @property
    def name(self) -> str:
        """The folder, as it was given."""
        return self._name

    def nvml(self, name: str, gpu: int | None = None) -> Evidence:
        """The recorded answer; a failed `nvmlInit` or a lost GPU answers for every row that depends on it."""
        failed = (question for question in ((None, INIT), (gpu, HANDLE)) if self._failed(question))
        return self._dated(self._answer(next(failed, (gpu, name)), name, gpu))

    def command(self, argv: Sequence[str], *, key: str | None = None, timeout_seconds: float = 10.0) -> Evidence:
        """The recorded output of the command."""
        return self._dated(self._command(command_key(argv, key)))

    def file(self, path: str) -> Evidence:
        """The recorded text of the file; of a recorded folder, the names that were recorded in it."""
        return self._dated(self._file(path))

    def kernel_log(self) -> Evidence:
        """The recorded kernel log."""
        status, text = _stored(self._folder / layout.KERNEL_LOG)
        if status is Status.NOT_RECORDED:
            return self._dated(kernel_log_answer(self._command(layout.KERNEL_LOG_KEY)))
        code = 0 if status is Status.OK else None
        return self._dated(kernel_log_answer(command_answer(layout.KERNEL_LOG_KEY, status, text, code)))

    def program_output(self) -> Evidence:
        """The text that was recorded with it; without one, what a live machine answers, if one was recorded."""
        status, text = _stored(self._folder / layout.PROGRAM_OUTPUT)
        if status is Status.NOT_RECORDED and self._nvml:
            status = Status.NOT_SUPPORTED
        return self._dated(program_output_answer(status, text))

    def _dated(self, answer: Evidence) -> Evidence:
        return msgspec.structs.replace(answer, collected_at=self._collected_at)

    def _failed(self, question: Question) -> bool:
        return question in self._nvml and self._nvml[question].codes[0] != 0

    def _answer(self, question: Question, name: str, gpu: int | None) -> Evidence:
        if self._hung:
            return nvml_absence(name, gpu, Status.TIMED_OUT)
        if question not in self._nvml:
            return nvml_absence(name, gpu, Status.NOT_RECORDED)
        code, value = self._nvml[question].at(self._num_calls[question])
        self._num_calls[question] += 1
        if isinstance(code, Status):
            self._hung = code is Status.TIMED_OUT
            return nvml_absence(name, gpu, code)
        return nvml_answer(name, gpu, code, value)

    def _file(self, path: str) -> Evidence:
        if path in self._files:
            return file_answer(path, *self._files[path])
        if ".." in PurePosixPath(path).parts:  # it would lead out of the recording, to files of this machine
            return file_answer(path, Status.NOT_RECORDED)
        return file_answer(path, *_stored(self._folder / layout.FILES / path.lstrip("/")))

    def _command(self, key: str) -> Evidence:
        return self._commands.get(key) or command_answer(key, Status.NOT_RECORDED)

    def _recorded_command(self, key: str, status: str, code: str, seconds: str, file_name: str) -> Evidence:
        stored = self._folder / layout.COMMANDS / Path(file_name).name
        text = _read(stored) if file_name and stored.is_file() else ""
        answer = command_answer(key, Status(status), text, int(code) if code else None)
        return msgspec.structs.replace(answer, duration_seconds=float(seconds or 0))


def evidence_folder(folder: Path) -> Path:
    """The folder that holds the evidence: `folder`/evidence of a run folder, or `folder` itself."""
    return folder / "evidence" if (folder / "evidence").is_dir() else folder


def _nvml_row(codes: str, values: str) -> NvmlRow:
    return NvmlRow(tuple(_code(code) for code in codes.split("|")), tuple(values.split("|")))


def _code(cell: str) -> int | Status:
    if cell.isdecimal():
        return int(cell)
    return Status.TIMED_OUT if cell == layout.HANG else Status(cell)


def _stored(path: Path) -> tuple[Status, str]:
    """The text of a file of the recording, the names in a folder of it, or why there is neither."""
    try:
        if path.is_dir():
            return Status.OK, "\n".join(sorted(entry.name for entry in path.iterdir()))
        if path.is_file():
            return Status.OK, _read(path)
    except PermissionError:
        return Status.NOT_PERMITTED, ""
    except OSError:  # longer than a name can be, or not to be read
        return Status.NOT_RECORDED, ""
    return Status.NOT_RECORDED, ""


def _read(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace")
