"""Remembers what a source answers, and writes it as an evidence folder that answers the same later."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from rigwise.records.evidence import Evidence
from rigwise.sources import layout
from rigwise.sources.archiving import write_folder
from rigwise.sources.masking import Identity, learned_names, mask, mask_file, this_identity
from rigwise.sources.remembered import Remembered
from rigwise.sources.source import Source
from rigwise.sources.trimming import trimmed

MAX_TEXT_BYTES = 2**30
"""Longer than any answer: sources bound them far below."""
_OWN_FOLDERS = re.compile(r"(?<=^/sys/fs/cgroup/).*/")
"""Control groups are named by this machine, not by us: `system.slice/ada-training.service/`."""


class Recording(msgspec.Struct, frozen=True):
    """What was recorded, ready to be written."""

    texts: dict[str, str]
    """The files of an evidence folder, by path in it."""
    trimmed: tuple[str, ...] = ()
    """The files that were shortened."""
    masked: dict[str, int] = {}
    """How much was replaced, by what it was."""


class Recorder:
    """A source that passes another's answers through and remembers the first one to each question."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._answers = Remembered()

    @property
    def name(self) -> str:
        """The wrapped source's name."""
        return self._source.name

    def nvml(self, name: str, gpu: int | None = None) -> Evidence:
        """The wrapped source's answer."""
        answer = self._source.nvml(name, gpu)
        self._answers.nvml.setdefault((gpu, name), answer)
        return answer

    def command(self, argv: Sequence[str], *, key: str | None = None, timeout_seconds: float = 10.0) -> Evidence:
        """The wrapped source's answer."""
        answer = self._source.command(argv, key=key, timeout_seconds=timeout_seconds)
        self._answers.commands.setdefault(answer.key, answer)
        return answer

    def file(self, path: str) -> Evidence:
        """The wrapped source's answer."""
        answer = self._source.file(path)
        self._answers.files.setdefault(path, answer)
        return answer

    def kernel_log(self) -> Evidence:
        """The wrapped source's answer."""
        answer = self._source.kernel_log()
        self._answers.commands.setdefault(layout.KERNEL_LOG_KEY, answer)
        return answer

    def program_output(self) -> Evidence:
        """The wrapped source's answer."""
        answer = self._source.program_output()
        self._answers.program_output = answer
        return answer

    def write(self, folder: Path, *, masked: bool = True, identity: Identity | None = None) -> list[Path]:
        """Writes the evidence folder and returns its files, relative to it.

        Raises:
            CannotWrite: the machine refused.
        """
        recording = self.recording(masked=masked, identity=identity)
        write_folder(folder, recording.texts)
        return sorted(map(Path, recording.texts))

    def recording(
        self, *, masked: bool = True, identity: Identity | None = None, max_text_bytes: int = MAX_TEXT_BYTES
    ) -> Recording:
        """The files of the evidence folder, masked, each answer trimmed to `max_text_bytes`."""
        tally = Counter[str]()
        short = self._answers.changed(str, lambda answer: _trimmed(answer, max_text_bytes))
        shown = short
        if masked:
            known = self._knowing_names(identity or this_identity())
            shown = short.changed(lambda name: mask(name, known), lambda answer: _masked(answer, known, tally))
        files = list(shown.texts())
        whole, kept = self._answers.texts(), short.texts()
        cut = (path for (path, _), (_, before), (_, after) in zip(files, whole, kept, strict=True) if before != after)
        return Recording(dict(files), tuple(cut), {what: number for what, number in tally.items() if number})

    def _knowing_names(self, identity: Identity) -> Identity:
        """The identity with the names that the evidence shows, but no word by which evidence is asked for."""
        keys = (*self._answers.commands, *(_OWN_FOLDERS.sub("", path) for path in self._answers.files))
        asked = {word for key in keys for word in re.split(r"[^\w-]+", key)}
        known = identity.knowing(learned_names(answer.text for answer in self._answers.all()))
        return Identity(tuple(name for name in known.names if name not in asked), known.salt)


def _trimmed(answer: Evidence, max_bytes: int) -> str:
    return trimmed(answer.text, max_bytes, is_log=answer.source == "kernel log")


def _masked(answer: Evidence, identity: Identity, tally: Counter[str]) -> str:
    if answer.source == "file":
        return mask_file(answer.key, answer.text, identity, tally)
    return mask(answer.text, identity, tally)
