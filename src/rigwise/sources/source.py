"""What every source answers: raw evidence, never an exception for an absent value."""

from collections.abc import Sequence
from typing import Protocol

from rigwise.records.evidence import Evidence


class Source(Protocol):
    """A live machine, a run folder, or a pasted text: all answer the same five questions."""

    @property
    def name(self) -> str:
        """What this source is, for people: `this machine`, `runs/2026-11-30-1`, `standard input`."""

    def nvml(self, name: str, gpu: int | None = None) -> Evidence:
        """The answer of one row of knowledge/nvml_calls.csv, in that row's text encoding."""

    def command(self, argv: Sequence[str], *, key: str | None = None, timeout_seconds: float = 10.0) -> Evidence:
        """Standard output of a command. `key` names it in recordings where argv differs between machines.

        Without argv nothing is run: the answer is what somebody handed over under that key, if anything.
        """

    def file(self, path: str) -> Evidence:
        """A file's text; for a device node, a description of it instead of its content."""

    def kernel_log(self) -> Evidence:
        """The kernel log, oldest line first."""

    def program_output(self) -> Evidence:
        """What programs printed and people wrote: error messages, tracebacks, logs; whatever is nothing else."""
