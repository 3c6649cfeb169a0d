"""Several sources that tell of one machine: a recording and the error message that came with it."""

from collections.abc import Callable, Sequence

import msgspec

from rigwise.records.evidence import Evidence, Status
from rigwise.sources.source import Source


class JoinedSource:
    """Every source is asked; what several of them answer comes one after the other."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = tuple(sources)

    @property
    def name(self) -> str:
        """The names of all, in the order in which they were given."""
        return ", ".join(source.name for source in self._sources)

    def nvml(self, name: str, gpu: int | None = None) -> Evidence:
        """The answer of the first source that has one."""
        return self._first(lambda source: source.nvml(name, gpu))

    def command(self, argv: Sequence[str], *, key: str | None = None, timeout_seconds: float = 10.0) -> Evidence:
        """The outputs of the command."""
        return self._all(lambda source: source.command(argv, key=key, timeout_seconds=timeout_seconds))

    def file(self, path: str) -> Evidence:
        """The text of the file in the first source that has it."""
        return self._first(lambda source: source.file(path))

    def kernel_log(self) -> Evidence:
        """The kernel logs."""
        return self._all(lambda source: source.kernel_log())

    def program_output(self) -> Evidence:
        """What programs printed."""
        return self._all(lambda source: source.program_output())

    def _first(self, ask: Callable[[Source], Evidence]) -> Evidence:
        answers = [ask(source) for source in self._sources]
        return next((answer for answer in answers if answer.status is not Status.NOT_RECORDED), answers[0])

    def _all(self, ask: Callable[[Source], Evidence]) -> Evidence:
        answers = [ask(source) for source in self._sources]
        good = [answer for answer in answers if answer.status is Status.OK]
        if not good:
            return next((answer for answer in answers if answer.status is not Status.NOT_RECORDED), answers[0])
        return msgspec.structs.replace(good[0], text="\n".join(answer.text for answer in good))
