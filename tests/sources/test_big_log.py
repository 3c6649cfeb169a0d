"""Logs too large to be read as a whole: the lines that matter, in order and in bounded number."""

import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rigwise.errors import BadInput
from rigwise.sources import big_log
from rigwise.sources.big_log import LINES_A_NEEDLE, scan_blocks, scan_file
from rigwise.sources.opening import open_source
from rigwise.sources.unpacking import MAX_PART_BYTES

NEEDLES = (b"NVRM", b"Xid", b"AER:")


def in_blocks(content: bytes, size_bytes: int) -> Iterator[bytes]:
    return (content[start : start + size_bytes] for start in range(0, len(content), size_bytes))


def scanned(content: bytes, folder: Path) -> bytes:
    (folder / "log").write_bytes(content)
    with (folder / "log").open("rb") as file:
        return scan_file(file, NEEDLES)


lines = st.lists(st.sampled_from([b"usb", b"NVRM: Xid 79", b"AER: x", b"", b"an NVRM", b"\xff\x00 Xid"]), max_size=40)


@given(lines, st.integers(1, 60))
@settings(deadline=None)
def test_blocks_of_any_size_give_the_lines_that_grep_gives(log: list[bytes], size_bytes: int) -> None:
    expected = [line for line in log if any(needle in line for needle in NEEDLES)]
    assert scan_blocks(in_blocks(b"\n".join(log), size_bytes), NEEDLES).split(b"\n") == (expected or [b""])


@given(lines)
@settings(deadline=None, max_examples=20)
def test_a_file_gives_what_a_stream_gives(tmp_path_factory: pytest.TempPathFactory, log: list[bytes]) -> None:
    content = b"\n".join(log)
    assert scanned(content, tmp_path_factory.mktemp("log")) == scan_blocks([content], NEEDLES)


def storm(num_lines: int) -> bytes:
    """A rare line at the beginning, in the middle and at the end of a flood."""
    flood = [b"[%d.0] NVRM: Xid 31" % number for number in range(num_lines)]
    flood[0], flood[num_lines // 2], flood[-1] = b"AER: first", b"AER: middle", b"AER: last"
    return b"\n".join(flood)


@pytest.mark.parametrize("how", ["grep", "blocks"])
def test_of_a_flood_the_first_and_last_lines_are_kept_and_of_rare_lines_all(how: str, tmp_path: Path) -> None:
    content = storm(20 * LINES_A_NEEDLE)
    kept = scanned(content, tmp_path) if how == "grep" else scan_blocks(in_blocks(content, 5000), NEEDLES)
    found = kept.split(b"\n")
    assert [line for line in found if b"AER" in line] == [b"AER: first", b"AER: middle", b"AER: last"]
    flood = [line for line in found if line.startswith(b"[") and b"NVRM: Xid" in line]
    assert flood[0] == b"[1.0] NVRM: Xid 31"
    assert flood[-1] == b"[%d.0] NVRM: Xid 31" % (20 * LINES_A_NEEDLE - 2)
    assert 2 * LINES_A_NEEDLE <= len(flood) <= 4 * LINES_A_NEEDLE
    assert flood == sorted(flood, key=lambda line: float(line[1:].split(b"]")[0]))
    assert kept.count(b"lines with NVRM, Xid; some are left out here") == 1


def test_machines_without_gnu_grep_are_served_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = storm(5 * LINES_A_NEEDLE)
    with_grep = scanned(content, tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    big_log._has_gnu_grep.cache_clear()
    try:
        assert b"AER: middle" in scanned(content, tmp_path)
        assert scanned(content, tmp_path).split(b"\n")[:100] == with_grep.split(b"\n")[:100]
    finally:
        big_log._has_gnu_grep.cache_clear()


def test_a_line_without_end_is_cut(tmp_path: Path) -> None:
    kept = scanned(b"NVRM" + b"x" * 10**6, tmp_path)
    assert kept.startswith(b"NVRM")
    assert len(kept) == big_log.MAX_LINE_BYTES


def test_carriage_returns_within_a_line_are_part_of_it(tmp_path: Path) -> None:
    """As progress bars write them into the log of a training run."""
    log = b"step 1\rstep 2 NVRM: Xid 79\rstep 3\nusb\nAER: x\r\n"
    assert scanned(log, tmp_path) == b"step 1\rstep 2 NVRM: Xid 79\rstep 3\nAER: x\r"


def large_log(folder: Path, needle: str) -> Path:
    path = folder / "kern.log"
    with path.open("wb") as file:
        filler = b"".join(b"[%12d.000000] usb 1-1: new device\n" % number for number in range(1000))
        while file.tell() < MAX_PART_BYTES // 2:
            file.write(filler)
        file.write(f"[  9999.000000] {needle}\n".encode())
        while file.tell() <= MAX_PART_BYTES:
            file.write(filler)
    return path


def test_a_log_larger_than_the_limit_is_opened_as_a_kernel_log(tmp_path: Path) -> None:
    path = large_log(tmp_path, "NVRM: Xid (PCI:0000:41:00): 79, pid=1, GPU has fallen off the bus.")
    line = "[  9999.000000] NVRM: Xid (PCI:0000:41:00): 79, pid=1, GPU has fallen off the bus."
    assert open_source(str(path)).kernel_log().text == line
    with gzip.open(tmp_path / "kern.log.gz", "wb", 1) as file:
        for number in range(MAX_PART_BYTES // 2**20 + 1):
            file.write(b"[%5d.000000] usb %s\n" % (number, os.urandom(2**19).hex().encode()))
        file.write(line.encode() + b"\n")
    assert line in open_source(str(tmp_path / "kern.log.gz")).kernel_log().text


def test_a_large_file_without_such_lines_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as refused:
        open_source(str(large_log(tmp_path, "nothing")))
    assert "kernel log" in refused.value.why
