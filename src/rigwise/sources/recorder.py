"""Remembers what a source answers, and writes it as an evidence folder that answers the same later."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from rigwise.errors import CannotWrite
from rigwise.records.evidence import Evidence, Status
from rigwise.sources import layout
from rigwise.sources.masking import Identity, mask, this_identity
from rigwise.sources.source import Source
from rigwise.speech import say


class Recorder:
    """A source that passes another's answers through and remembers the first one to each question."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._nvml: dict[tuple[int | None, str], Evidence] = {}
        self._commands: dict[str, Evidence] = {}
        self._files: dict[str, Evidence] = {}
        self._program_output: Evidence | None = None

    @property
    def name(self) -> str:
        """The wrapped source's name."""
        return self._source.name

    def nvml(self, name: str, gpu: int | None = None) -> Evidence:
        """The wrapped source's answer."""
        answer = self._source.nvml(name, gpu)
        self._nvml.setdefault((gpu, name), answer)
        return answer

    def command(self, argv: Sequence[str], *, key: str | None = None, timeout_seconds: float = 10.0) -> Evidence:
        """The wrapped source's answer."""
        answer = self._source.command(argv, key=key, timeout_seconds=timeout_seconds)
        self._commands.setdefault(answer.key, answer)
        return answer

    def file(self, path: str) -> Evidence:
        """The wrapped source's answer."""
        answer = self._source.file(path)
        self._files.setdefault(path, answer)
        return answer

    def kernel_log(self) -> Evidence:
        """The wrapped source's answer."""
        answer = self._source.kernel_log()
        self._commands.setdefault(layout.KERNEL_LOG_KEY, answer)
        return answer

    def program_output(self) -> Evidence:
        """The wrapped source's answer."""
        self._program_output = self._source.program_output()
        return self._program_output

    def write(self, folder: Path, *, masked: bool = True, identity: Identity | None = None) -> list[Path]:
        """Writes the evidence folder and returns its files, relative to it.

        Raises:
            CannotWrite: the machine refused.
        """
        identity = identity or this_identity()
        texts = {path: mask(text, identity) if masked else text for path, text in self._texts()}
        if masked:
            texts = {mask(path, identity): text for path, text in texts.items()}
        for path, text in texts.items():
            _write(folder, path, text)
        return sorted(map(Path, texts))

    def _texts(self) -> Iterable[tuple[str, str]]:
        """Each file of the folder and its text."""
        yield layout.COLLECTED_AT, self._collected_at() + "\n"
        yield layout.NVML, layout.table("gpu\tkey\treturn code\tvalue", self._nvml_rows())
        yield layout.COMMAND_INDEX, layout.table("key\tstatus\texit status\tseconds\tfile name", self._command_rows())
        for key, answer in self._commands.items():
            if _is_kernel_log(key, answer):
                yield layout.KERNEL_LOG, answer.text
            elif answer.return_code is not None:
                yield f"{layout.COMMANDS}/{self._file_name(key)}", answer.text
        for path in filter(self._lies_as_file, self._files):
            yield layout.FILES + path, self._files[path].text
        if self._program_output is not None and self._program_output.status is Status.OK:
            yield layout.PROGRAM_OUTPUT, self._program_output.text
        yield layout.FILE_INDEX, layout.table("path\tstatus\ttext", self._file_rows())

    def _collected_at(self) -> str:
        answers = [*self._nvml.values(), *self._commands.values(), *self._files.values()]
        return min((answer.collected_at for answer in answers if answer.collected_at), default="")

    def _nvml_rows(self) -> Iterable[Sequence[str]]:
        for (gpu, name), answer in self._nvml.items():
            code = layout.HANG if answer.status is Status.TIMED_OUT else answer.status.value
            if answer.return_code is not None:
                code = str(answer.return_code)
            if answer.status is not Status.NOT_RECORDED:
                value = answer.text if answer.status is Status.OK else ""
                yield "-" if gpu is None else str(gpu), name, code, value

    def _command_rows(self) -> Iterable[Sequence[str]]:
        for key, answer in self._commands.items():
            if answer.status is not Status.NOT_RECORDED and not _is_kernel_log(key, answer):
                code = "" if answer.return_code is None else str(answer.return_code)
                file_name = "" if answer.return_code is None else self._file_name(key)
                yield key, answer.status, code, f"{answer.duration_seconds:.3f}", file_name

    def _file_rows(self) -> Iterable[Sequence[str]]:
        for path, answer in self._files.items():
            if answer.status is not Status.NOT_RECORDED and not self._lies_as_file(path):
                yield path, answer.status, answer.text if answer.status in (Status.OK, Status.FAILED) else ""

    def _file_name(self, key: str) -> str:
        """`01-nvidia-smi.txt`: the program alone, for its arguments and folder may hold names that must be masked."""
        program = PurePosixPath(key.split()[0]).name
        return f"{list(self._commands).index(key):02}-{re.sub(r'[^A-Za-z0-9]+', '-', program)}.txt"

    def _lies_as_file(self, path: str) -> bool:
        """Whether the answer is the text of files/PATH: there is one, and no other path lies below it."""
        parents = {parent for other in self._files for parent in PurePosixPath(other).parents}
        plain = path.startswith("/") and ".." not in PurePosixPath(path).parts
        return self._files[path].status is Status.OK and plain and PurePosixPath(path) not in parents


def _is_kernel_log(key: str, answer: Evidence) -> bool:
    return key == layout.KERNEL_LOG_KEY and answer.status is Status.OK


def _write(folder: Path, path: str, text: str) -> None:
    target = folder / path
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode("utf-8", "replace"))
    except OSError as failure:
        raise CannotWrite(
            say("cannot write {path}", path=target),
            failure.strerror or str(failure),
            say("choose a folder that can be written to"),
        ) from failure
