"""What was recognised in texts."""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from rigwise.knowledge.kinds_of_evidence import KERNEL_LOG

PROGRAM_OUTPUT = "program output"


class Cut(NamedTuple):
    """Lines of a text that belong together, and the question they answer."""

    key: str
    text: str


class Pieces(msgspec.Struct, frozen=True):
    """Answers to questions, each in the words that were pasted."""

    commands: dict[str, str] = {}
    """By key; several outputs of the same command one after the other."""
    files: dict[str, str] = {}
    """By path."""
    kernel_log: str | None = None
    program_output: str | None = None
    """Whatever is nothing else."""


def pieces(cuts: Iterable[Cut]) -> Pieces:
    """The cuts by the question they answer, those of one question one after the other."""
    found: dict[str, list[str]] = {}
    for cut in cuts:
        found.setdefault(cut.key, []).append(cut.text)
    texts = {key: "\n".join(parts) for key, parts in found.items()}
    kernel_log, output = texts.pop(KERNEL_LOG, None), texts.pop(PROGRAM_OUTPUT, None)
    files = {key: text for key, text in texts.items() if key.startswith("/")}
    commands = {key: text for key, text in texts.items() if key not in files}
    return Pieces(commands, files, kernel_log, output)
