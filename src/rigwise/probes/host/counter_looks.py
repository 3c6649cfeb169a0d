"""Two looks at the kernel's counters, a moment apart: the only way to tell what is busy now from what was.

One command reads both, so that a recording replays the very same window. It must run before anything of ours
computes, or it would find our own work.
"""

import re
from typing import NamedTuple

from rigwise.records.evidence import Evidence, Status
from rigwise.sources.source import Source

KEY = "counters twice"
FILES = ("/proc/uptime", "/proc/stat", "/proc/diskstats", "/proc/vmstat")
WINDOW_SECONDS = 0.25
"""25 ticks per CPU; one tick more or less is 4 %."""
DEEP_WINDOW_SECONDS = 3.0
HEAD = re.compile(r"^==> (\S+) <==$", re.MULTILINE)


class Looks(NamedTuple):
    """What each file held, both times."""

    evidence: Evidence
    texts: dict[str, tuple[str, str]]
    seconds: float | None
    """Between the looks; None where the clock of the evidence does not say."""

    @property
    def answered(self) -> bool:
        """Whether a machine was asked; pasted text cannot be."""
        return self.evidence.status is not Status.NOT_RECORDED

    def of(self, path: str) -> Evidence:
        """Both looks at one file as one answer; not supported where the machine has no such file."""
        before, after = self.texts.get(path, ("", ""))
        key = f"{path}, twice within {self.seconds:.2f} s" if self.seconds else path
        if not before or not after or not self.seconds:
            status = Status.NOT_SUPPORTED if self.evidence.status is Status.OK else self.evidence.status
            return Evidence(source="file", key=path, status=status, text=self.evidence.text[:200])
        return Evidence(source="file", key=key, status=Status.OK, text=f"{before}\n{after}")


def look_twice(source: Source, *, deep: bool = False) -> Looks:
    """The counters now and a moment later."""
    seconds = DEEP_WINDOW_SECONDS if deep else WINDOW_SECONDS
    look = f"tail -v -n +1 {' '.join(FILES)} 2>/dev/null"
    answer = source.command(["sh", "-c", f"{look}; sleep {seconds}; {look}; true"], key=KEY)
    texts = halves(answer.text) if answer.status is Status.OK else {}
    return Looks(answer, texts, _seconds_between(texts.get("/proc/uptime", ("", ""))))


def halves(text: str) -> dict[str, tuple[str, str]]:
    r"""The first and the last text of each file in the output of `tail -v`.

    >>> halves("==> /proc/uptime <==\n10.00 9.0\n\n==> /proc/uptime <==\n10.25 9.2\n")
    {'/proc/uptime': ('10.00 9.0', '10.25 9.2')}
    """
    pieces = HEAD.split(text)
    found: dict[str, tuple[str, str]] = {}
    for path, body in zip(pieces[1::2], pieces[2::2], strict=True):
        found[path] = (found[path][0] if path in found else body.strip(), body.strip())
    return found


def _seconds_between(uptimes: tuple[str, str]) -> float | None:
    try:
        before, after = (float(text.split()[0]) for text in uptimes)
    except (ValueError, IndexError):
        return None
    return after - before if 0 < after - before < 3600 else None
