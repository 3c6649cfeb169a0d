"""Answers that were given, and the files of the evidence folder that gives them again (see `layout`)."""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import PurePosixPath

import msgspec

from rigwise.records.evidence import Evidence, Status
from rigwise.sources import layout


class Remembered(msgspec.Struct):
    """The first answer to each question."""

    nvml: dict[tuple[int | None, str], Evidence] = {}
    commands: dict[str, Evidence] = {}
    """By key; the kernel log is one of them."""
    files: dict[str, Evidence] = {}
    program_output: Evidence | None = None

    def all(self) -> list[Evidence]:
        """Every answer."""
        output = [self.program_output] if self.program_output is not None else []
        return [*self.nvml.values(), *self.commands.values(), *self.files.values(), *output]

    def changed(self, name: Callable[[str], str], text: Callable[[Evidence], str]) -> "Remembered":
        """The same answers with other names of commands and files, and other texts."""

        def new(answer: Evidence) -> Evidence:
            return msgspec.structs.replace(answer, text=text(answer))

        return Remembered(
            nvml={question: new(answer) for question, answer in self.nvml.items()},
            commands={name(key): new(answer) for key, answer in self.commands.items()},
            files={name(path): new(answer) for path, answer in self.files.items()},
            program_output=None if self.program_output is None else new(self.program_output),
        )

    def texts(self) -> Iterable[tuple[str, str]]:
        """Each file of the folder: its path and its text."""
        yield layout.COLLECTED_AT, self._collected_at() + "\n"
        yield layout.NVML, layout.table("gpu\tkey\treturn code\tvalue", self._nvml_rows())
        head = "key\tstatus\texit status\tseconds\tfile name"
        yield layout.COMMAND_INDEX, layout.table(head, self._command_rows())
        for key, answer in self.commands.items():
            if _is_kernel_log(key, answer):
                yield layout.KERNEL_LOG, answer.text
            elif answer.return_code is not None:
                yield f"{layout.COMMANDS}/{self._file_name(key)}", answer.text
        plain = self._plain_files()
        for path in plain:
            yield layout.FILES + path, self.files[path].text
        if self.program_output is not None and self.program_output.status is Status.OK:
            yield layout.PROGRAM_OUTPUT, self.program_output.text
        yield layout.FILE_INDEX, layout.table("path\tstatus\ttext", self._file_rows(plain))

    def _collected_at(self) -> str:
        return min((answer.collected_at for answer in self.all() if answer.collected_at), default="")

    def _nvml_rows(self) -> Iterable[Sequence[str]]:
        for (gpu, name), answer in self.nvml.items():
            code = layout.HANG if answer.status is Status.TIMED_OUT else answer.status.value
            if answer.return_code is not None:
                code = str(answer.return_code)
            if answer.status is not Status.NOT_RECORDED:
                value = answer.text if answer.status is Status.OK else ""
                yield "-" if gpu is None else str(gpu), name, code, value

    def _command_rows(self) -> Iterable[Sequence[str]]:
        for key, answer in self.commands.items():
            if answer.status is not Status.NOT_RECORDED and not _is_kernel_log(key, answer):
                code = "" if answer.return_code is None else str(answer.return_code)
                file_name = "" if answer.return_code is None else self._file_name(key)
                yield key, answer.status, code, f"{answer.duration_seconds:.3f}", file_name

    def _file_rows(self, plain: Collection[str]) -> Iterable[Sequence[str]]:
        for path, answer in self.files.items():
            if answer.status is not Status.NOT_RECORDED and path not in plain:
                yield path, answer.status, answer.text if answer.status in (Status.OK, Status.FAILED) else ""

    def _file_name(self, key: str) -> str:
        """`01-nvidia-smi.txt`: the program alone, for its arguments and folder may hold names that must be masked."""
        program = PurePosixPath(key.split()[0]).name
        return f"{list(self.commands).index(key):02}-{re.sub(r'[^A-Za-z0-9]+', '-', program)}.txt"

    def _plain_files(self) -> dict[str, None]:
        """The paths whose answer is the text of files/PATH: there is one, and no other path lies below it."""
        paths = {path: PurePosixPath(path) for path in self.files}
        folders = {folder for path in paths.values() for folder in path.parents}
        return {
            path: None
            for path, place in paths.items()
            if self.files[path].status is Status.OK
            and place.is_absolute()
            and ".." not in place.parts
            and place not in folders
        }


def _is_kernel_log(key: str, answer: Evidence) -> bool:
    return key == layout.KERNEL_LOG_KEY and answer.status is Status.OK
