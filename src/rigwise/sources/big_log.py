"""The lines that matter of a log too large to read as a whole, in bounded memory: the first and last with each needle.

GNU grep finds the first lines, several times faster than Python, and is started again without the needles that it has
found often enough; of those, the last ones are looked for near the end of the file. Streams, and machines without GNU
grep, are searched block by block.
"""

import os
import resource
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from typing import IO

from rigwise.knowledge.log_needles import NEEDLES
from rigwise.speech import say

LINES_A_NEEDLE = 1000
"""How many lines with one needle are kept from the beginning, and how many from the end."""
TAIL_BYTES = 32 * 2**20
"""How far from the end the last lines with a frequent needle are looked for."""
BLOCK_BYTES = 4 * 2**20
MAX_LINE_BYTES = 4096
MAX_OUTPUT_BYTES = 64 * 2**20
GREP_MEMORY_BYTES = 256 * 2**20
"""grep holds a whole line in memory; beyond this it gives up, and the file is searched block by block."""


class KeptLines:
    """Lines by their offset in the log, and how often each needle was met."""

    def __init__(self, needles: Sequence[bytes]) -> None:
        self._wanted = list(needles)
        self._counts = dict.fromkeys(needles, 0)
        self._lines: dict[int, bytes] = {}
        self._full_at: dict[bytes, int] = {}
        self._last: dict[bytes, list[tuple[int, bytes]]] = {}

    def wanted(self) -> list[bytes]:
        """Needles of which too few lines are known."""
        return self._wanted

    def frequent(self) -> dict[bytes, int]:
        """Needles of which enough first lines are known, and up to which offset."""
        return self._full_at

    def add(self, offset: int, line: bytes) -> None:
        """One more line from the beginning, kept where it holds a needle of which too few are known."""
        if offset in self._lines:
            return
        for needle in self._wanted:
            if needle in line:
                self._lines[offset] = line[:MAX_LINE_BYTES]
                self._counts[needle] += 1
                if self._counts[needle] == LINES_A_NEEDLE:
                    self._full_at[needle] = offset
                    self._wanted = [needle for needle in self._wanted if needle not in self._full_at]

    def add_last(self, needle: bytes, lines: Iterable[tuple[int, bytes]]) -> None:
        """Lines with a frequent needle, the last one first, from further on than any before."""
        newer = [(offset, line[:MAX_LINE_BYTES]) for offset, line in lines]
        self._last[needle] = (newer + self._last.get(needle, []))[:LINES_A_NEEDLE]

    def text(self) -> bytes:
        """The kept lines in the order of the log; a note stands where lines may be missing."""
        kept = {offset: line for lines in self._last.values() for offset, line in lines} | self._lines
        for offset in set(self._full_at.values()):
            names = b", ".join(needle for needle, full_at in self._full_at.items() if full_at == offset).decode()
            note = say("[... rigwise keeps the first and last lines with {names}; some are left out here]", names=names)
            kept[offset] += f"\n{note}".encode()
        return b"\n".join(kept[offset] for offset in sorted(kept))


def scan_file(file: IO[bytes], needles: Sequence[bytes] = NEEDLES) -> bytes:
    """The lines of a file of this machine that hold a needle, the first and last of each."""
    kept = KeptLines(needles)
    file.seek(0)
    if not _has_gnu_grep() or not _grep(file, kept):
        file.seek(0)
        return scan_blocks(iter(lambda: file.read(BLOCK_BYTES), b""), needles)
    if kept.frequent():
        _add_tail(file, kept)
    return kept.text()


def scan_blocks(blocks: Iterable[bytes], needles: Sequence[bytes] = NEEDLES) -> bytes:
    r"""The lines of a stream that hold a needle, the first and last of each.

    >>> scan_blocks([b"usb 1-1\n[1.0] NVRM: X", b"id\nusb 1-2"]).decode()
    '[1.0] NVRM: Xid'
    """
    kept = KeptLines(needles)
    for offset, block in _whole_lines(blocks):
        for needle in kept.wanted():
            for start, line in _lines_with(needle, block):
                if needle in kept.frequent():
                    break
                kept.add(offset + start, line)
        _add_last(kept, offset, block)
    return kept.text()


def _whole_lines(blocks: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Offset and bytes of blocks that end where a line ends, unless a line is longer than a block."""
    offset, rest = 0, b""
    for block in blocks:
        rest += block
        end = rest.rfind(b"\n") + 1 or (len(rest) if len(rest) > BLOCK_BYTES else 0)
        yield offset, rest[:end]
        offset, rest = offset + end, rest[end:]
    yield offset, rest


def _lines_with(needle: bytes, block: bytes) -> Iterator[tuple[int, bytes]]:
    """Start and bytes of each line of the block with the needle."""
    at = block.find(needle)
    while at >= 0:
        start, end = _line_around(block, at)
        yield start, block[start:end]
        at = block.find(needle, end)


def _last_lines_with(needle: bytes, block: bytes, start: int) -> Iterator[tuple[int, bytes]]:
    """Start and bytes of each line of the block from `start` on with the needle, the last one first."""
    at = block.rfind(needle, start)
    while at >= 0:
        line_start, end = _line_around(block, at)
        yield line_start, block[line_start:end]
        at = block.rfind(needle, start, line_start) if line_start > start else -1


def _line_around(block: bytes, at: int) -> tuple[int, int]:
    end = block.find(b"\n", at)
    return block.rfind(b"\n", 0, at) + 1, len(block) if end < 0 else end


def _add_last(kept: KeptLines, offset: int, block: bytes) -> None:
    """The last lines of the block with each frequent needle, after those that were kept as its first."""
    for needle, full_at in kept.frequent().items():
        after = max(0, full_at + 1 - offset)
        if after < len(block):
            lines = zip(range(LINES_A_NEEDLE), _last_lines_with(needle, block, after), strict=False)
            kept.add_last(needle, ((offset + start, line) for _, (start, line) in lines))


def _add_tail(file: IO[bytes], kept: KeptLines) -> None:
    begin = max(0, file.seek(0, os.SEEK_END) - TAIL_BYTES)
    file.seek(begin)
    for offset, block in _whole_lines(iter(lambda: file.read(BLOCK_BYTES), b"")):
        _add_last(kept, begin + offset, block)


@cache
def _has_gnu_grep() -> bool:
    """Whether grep leaves its input where the last line that it found ends, as GNU's does."""
    with suppress(OSError):
        return b"GNU grep" in subprocess.run(["grep", "--version"], capture_output=True, check=False).stdout
    return False


def _grep(file: IO[bytes], kept: KeptLines) -> bool:
    """Whether grep got through the file; each run ends when at least one more needle was found often enough."""
    while kept.wanted():
        begin = os.lseek(file.fileno(), 0, os.SEEK_CUR)
        num_lines = len(kept.wanted()) * LINES_A_NEEDLE
        found = _grep_once(file, kept.wanted(), num_lines)
        if found is None:
            return False
        for line in found:
            offset, _, text = line.partition(b":")
            kept.add(begin + int(offset), text)
        if len(found) < num_lines:
            break
    return True


def _grep_once(file: IO[bytes], needles: Sequence[bytes], num_lines: int) -> list[bytes] | None:
    """The next lines with one of the needles, `offset:line`; None where grep fails or prints too much."""
    command = ["grep", "-aFb", "-m", str(num_lines), *(f"-e{needle.decode()}" for needle in needles)]
    with subprocess.Popen(
        command,
        stdin=file,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"LC_ALL": "C"},
    ) as grep:
        with suppress(OSError):
            resource.prlimit(grep.pid, resource.RLIMIT_AS, (GREP_MEMORY_BYTES, GREP_MEMORY_BYTES))
        assert grep.stdout is not None
        output = grep.stdout.read(MAX_OUTPUT_BYTES + 1)
        if len(output) > MAX_OUTPUT_BYTES:
            grep.kill()
    if grep.returncode not in (0, 1):
        return None
    return output.split(b"\n")[:-1]  # grep ends every line; a progress bar has carriage returns within one
