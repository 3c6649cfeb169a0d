"""How fast the disk below a folder reads. Run as a script by our own interpreter: `disk_probe.py FOLDER`.

Writes at most 512 MiB in a folder of its own, which it removes whatever happens, reads them back past the page cache,
and prints one JSON object. Refuses where the disk is nearly full, in memory or read-only. Takes at most about 10 s.
Needs Python 3.8, the standard library and nothing of ours.
"""

from __future__ import annotations

import fcntl
import json
import mmap
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

LIMIT_SECONDS = 20.0
"""Less than the caller's limit, so that what is known is told even when a disk stalls."""
FILE_BYTES = 512 * 2**20
WRITE_SECONDS, READ_SECONDS, RANDOM_SECONDS, CREATE_SECONDS, OPEN_SECONDS = 2.5, 2.0, 1.5, 1.5, 1.0
LARGE_BLOCK, SMALL_BLOCK = 4 * 2**20, 4096
NUM_SMALL_FILES = 1000
FULL_RATIO = 0.9
IN_MEMORY = {"tmpfs", "ramfs", "devtmpfs"}
CLEANER = "import shutil, sys; sys.stdin.read(); shutil.rmtree(sys.argv[1], ignore_errors=True)"


def main(folder: str) -> None:
    """Print what was measured, or why nothing was."""
    device, kind = mount_of(os.path.realpath(folder))
    facts: dict[str, Any] = {"folder_type": kind, "device": device}
    why_not = refusal(folder, facts["folder_type"])
    if why_not:
        answer({**facts, "refused": why_not})
        return
    place = tempfile.mkdtemp(prefix=".rigwise-disk-probe-", dir=folder)
    cleaner = start_cleaner(place)
    timer = threading.Timer(LIMIT_SECONDS, give_up, [facts])
    timer.daemon = True
    timer.start()
    try:
        measure(place, facts)
    except OSError as failure:
        facts["error"] = failure.strerror or str(failure)
    finally:
        timer.cancel()
        cleaner.communicate()
    answer(facts)


def start_cleaner(place: str) -> subprocess.Popen[bytes]:
    """A process that removes the folder as soon as this one ends, in whatever way: also killed, also with its group."""
    argv = [sys.executable, "-I", "-c", CLEANER, place]
    quiet = subprocess.DEVNULL
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, start_new_session=True)


def give_up(facts: dict[str, Any]) -> None:
    """Print what is known and end the process, although a read may still hang."""
    answer({**facts, "error": f"no answer from the disk after {LIMIT_SECONDS:.0f} s"})
    os._exit(0)


def answer(facts: dict[str, Any]) -> None:
    """Print everything that is known as one line of JSON."""
    print(json.dumps(facts), flush=True)


def refusal(folder: str, kind: str) -> str:
    """Why the disk must not be written to, "" where it may be."""
    room = os.statvfs(folder)
    if room.f_flag & os.ST_RDONLY or not os.access(folder, os.W_OK):
        return "read-only"
    if kind in IN_MEMORY:
        return "in memory"
    usable = room.f_blocks - room.f_bfree + room.f_bavail
    if usable and (room.f_blocks - room.f_bfree) / usable > FULL_RATIO:
        return "over 90 % full"
    return "too little room" if room.f_bavail * room.f_frsize < 4 * FILE_BYTES else ""


def mount_of(folder: str) -> tuple[str, str]:
    """Device and type of the file system that holds a folder, "" where they cannot be told."""
    best, device, kind = "", "", ""
    with suppress(OSError), open("/proc/mounts", encoding="utf-8", errors="replace") as mounts:
        for line in mounts:
            point = line.split()[1].replace("\\040", " ")
            inside = folder == point or folder.startswith(point.rstrip("/") + "/")
            if inside and len(point) >= len(best):
                best, device, kind = point, line.split()[0], line.split()[2]
    return device, kind


def measure(place: str, facts: dict[str, Any]) -> None:
    """Fill in what can be measured, most important first."""
    path = os.path.join(place, "large")
    size, facts["direct"] = write_large(path)
    if size < 16 * LARGE_BLOCK:
        raise OSError(f"only {size} bytes could be written in {WRITE_SECONDS} s")
    facts["file_bytes"] = size
    fio = shutil.which("fio") if facts["direct"] else None
    facts["tool"] = "fio" if fio else "rigwise"
    if not (fio and measure_with_fio(fio, path, facts)):
        facts["tool"] = "rigwise"
        measure_large(path, size, facts)
    os.unlink(path)
    facts["opens_per_second"] = opens_per_second(place)


def open_past_cache(path: str, flags: int) -> tuple[int, bool]:
    """A file opened past the page cache, where the file system allows it; the second value says whether."""
    with suppress(OSError):
        return os.open(path, flags | os.O_DIRECT, 0o600), True
    return os.open(path, flags, 0o600), False


def write_large(path: str) -> tuple[int, bool]:
    """Write for a while; the size reached, and whether the page cache was avoided."""
    block = mmap.mmap(-1, LARGE_BLOCK)
    block.write(os.urandom(LARGE_BLOCK))
    file, direct = open_past_cache(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
    size, end = 0, time.monotonic() + WRITE_SECONDS
    try:
        while size < FILE_BYTES and time.monotonic() < end:
            block[:8] = size.to_bytes(8, "little")
            try:
                size += os.write(file, block)
            except OSError:
                if size or not direct:
                    raise
                fcntl.fcntl(file, fcntl.F_SETFL, 0)  # opened, but the first write past the cache is refused
                direct = False
            if not direct:
                os.fdatasync(file)
        os.fsync(file)
    finally:
        os.close(file)
    return size - size % LARGE_BLOCK, direct


def measure_large(path: str, size: int, facts: dict[str, Any]) -> None:
    """Sequential speed, then single small reads all over the file."""
    file, direct = open_past_cache(path, os.O_RDONLY)
    facts["direct"] = facts["direct"] and direct
    if not direct:
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    try:
        large = mmap.mmap(-1, LARGE_BLOCK)
        offsets = range(0, size, LARGE_BLOCK)
        times = timed_reads(READ_SECONDS, offsets, lambda offset: os.preadv(file, [large], offset))
        facts["sequential_read_bytes_per_second"] = len(times) * LARGE_BLOCK / sum(times)
        if not direct:
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        small = mmap.mmap(-1, SMALL_BLOCK)
        places = random.sample(range(size // SMALL_BLOCK), min(size // SMALL_BLOCK, 100_000))
        times = timed_reads(RANDOM_SECONDS, places, lambda place: os.preadv(file, [small], place * SMALL_BLOCK))
        facts["random_reads_per_second"] = len(times) / sum(times)
        facts["random_read_p99_seconds"] = statistics.quantiles(times, n=100)[98] if len(times) > 100 else None
    finally:
        os.close(file)


def timed_reads(limit_seconds: float, places: Any, read: Callable[[int], int]) -> list[float]:
    """Seconds of each read, until the places or the time run out."""
    times = []
    end = time.monotonic() + limit_seconds
    for place in places:
        began = time.perf_counter()
        read(place)
        times.append(time.perf_counter() - began)
        if time.monotonic() > end:
            break
    return times


def measure_with_fio(fio: str, path: str, facts: dict[str, Any]) -> bool:
    """The same two patterns by fio; False where it fails."""
    with suppress(OSError, ValueError, LookupError, subprocess.SubprocessError):
        large = run_fio(fio, path, "read", LARGE_BLOCK, READ_SECONDS)
        small = run_fio(fio, path, "randread", SMALL_BLOCK, RANDOM_SECONDS)
        facts["sequential_read_bytes_per_second"] = large["bw_bytes"]
        facts["random_reads_per_second"] = small["iops"]
        facts["random_read_p99_seconds"] = small["clat_ns"]["percentile"]["99.000000"] / 1e9
        return True
    return False


def run_fio(fio: str, path: str, pattern: str, block: int, seconds: float) -> dict[str, Any]:
    """What fio says of reading a file that is there already, one request at a time."""
    argv = [fio, "--name=probe", f"--filename={path}", f"--rw={pattern}", f"--bs={block}", "--direct=1", "--readonly"]
    argv += ["--ioengine=psync", f"--runtime={seconds * 1000:.0f}ms", "--time_based", "--output-format=json"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=seconds + 3, check=True, cwd="/")
    return dict(json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0]["read"])


def opens_per_second(place: str) -> float | None:
    """Small files opened and read per second; their content is not in the page cache, their names are."""
    names = []
    end = time.monotonic() + CREATE_SECONDS
    for number in range(NUM_SMALL_FILES):
        names.append(os.path.join(place, f"small-{number}"))
        file = os.open(names[-1], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        os.write(file, b"r" * SMALL_BLOCK)
        os.fdatasync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)
        if time.monotonic() > end:
            break
    random.shuffle(names)
    times = timed_reads(OPEN_SECONDS, range(len(names)), lambda number: read_whole(names[number]))
    return len(times) / sum(times)


def read_whole(path: str) -> int:
    """Open, read and close one small file."""
    file = os.open(path, os.O_RDONLY)
    try:
        return len(os.read(file, SMALL_BLOCK))
    finally:
        os.close(file)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else ".")
