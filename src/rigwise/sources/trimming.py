"""Makes a long text short enough to be sent, and says in it what was left out."""

import re

from rigwise.speech import say

TELLING_LINE = re.compile(
    r"NVRM|nvidia|nouveau|Xid|NVLink|fabricmanager|\bAER\b|pcieport|PCIe|\bmce\b|Machine Check|Hardware Error|EDAC"
    r"|[Oo]ut of memory|oom|Killed process|blocked for more|segfault|I/O error|nvme|vfio|IOMMU|DMAR|\bDMI:"
    r"|Linux version|Command line|[Ss]ecure boot|lockdown|thermal|[Ll]ink is"
)
"""Lines of a kernel log that are about GPUs, buses, memory, disks or how the machine was started; kept first."""


def trimmed(text: str, max_bytes: int, *, is_log: bool = False) -> str:
    r"""`text`, or its parts that matter when it is longer: its end, of a log every telling line, else also its start.

    >>> trimmed("a\nb\nc\nd\n", 4).splitlines()
    ['a', '(rigwise left out 2 lines here)', 'd']
    """
    if len(text.encode()) <= max_bytes:
        return text
    lines = text.splitlines()
    if is_log:
        telling = [line for line in lines if TELLING_LINE.search(line)]
        kept = _fitting(telling, max_bytes // 2)
        tail = _from_end(lines, max_bytes // 2)
        shown = set(tail)
        return _joined([line for line in kept if line not in shown], len(lines), tail)
    head = _from_end(lines[::-1], max_bytes // 2)[::-1]
    return _joined(head, len(lines), _from_end(lines[len(head) :], max_bytes // 2))


def _joined(head: list[str], num_lines: int, tail: list[str]) -> str:
    count = num_lines - len(head) - len(tail)
    return "\n".join((*head, say("(rigwise left out {count} lines here)", count=count), *tail)) + "\n"


def _fitting(lines: list[str], max_bytes: int) -> list[str]:
    """All of them, or as many of the first and of the last as fit: the first fault is the cause, the last the state."""
    if sum(len(line.encode()) + 1 for line in lines) <= max_bytes:
        return lines
    head = _from_end(lines[::-1], max_bytes // 2)[::-1]
    return head + _from_end(lines[len(head) :], max_bytes // 2)


def _from_end(lines: list[str], max_bytes: int) -> list[str]:
    """The last lines that fit; a line that alone is too long is cut."""
    kept: list[str] = []
    room = max_bytes
    for line in reversed(lines):
        size = len(line.encode()) + 1
        if size > room:
            return kept[::-1] or [line.encode()[: max_bytes - 1].decode("utf-8", "ignore")]
        room -= size
        kept.append(line)
    return kept[::-1]
