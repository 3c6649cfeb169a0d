"""Output of fio, text or JSON: how fast a disk reads."""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from rigwise.probes.host.columns import number
from rigwise.records.deep import DiskSpeed

SMALL_BYTES = 16 * 1024
"""Requests up to this size tell of single small reads; larger ones of sequential speed."""
MAX_REPORTS = 20
DECIMAL = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
BINARY = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}

JOB = re.compile(r"^[^\n:]{1,80}: \(g=\d+\): rw=(\w+), bs=([^\n]{1,120})$", re.MULTILINE)
READ = re.compile(r"^\s*read\s?: ([^\n]{1,200})", re.MULTILINE)
IOPS = re.compile(r"\biops=\s?([\d.,]+)([kKmM]?)", re.IGNORECASE)
BANDWIDTH = re.compile(r"\bbw=\s?([\d.,]+)\s?([kmgKMG]?)(i?)B/s", re.IGNORECASE)
UNIT = re.compile(r"\bclat percentiles \((nsec|usec|msec)\)")
P99 = re.compile(r"99\.00th=\[\s*(\d+)\]")
SECONDS = {"nsec": 1e-9, "usec": 1e-6, "msec": 1e-3}
SIZE = re.compile(r"(?:\([RW]\)\s?)?(\d+)([kKmM]?)i?B?")
DISK_NAME = re.compile(r"^[ \t]{1,8}((?!dm-|md\d)[\w-]{1,32}): ios=\d", re.MULTILINE)
"""A line of `Disk stats`; what is made of other disks is left out."""
DEPTH = re.compile(r"\biodepth=(\d+)")


class ReadJob(NamedTuple):
    """What one job, or a group of equal jobs reported together, read."""

    random: bool
    block_bytes: int
    bytes_per_second: float
    per_second: float
    p99_seconds: float | None
    depth: int
    direct: bool | None


def disk_speed(text: str) -> DiskSpeed:
    """The fastest sequential and the fastest small random reads of all jobs.

    >>> found = disk_speed('''seq: (g=0): rw=read, bs=(R) 1024KiB-1024KiB, (W) 1024KiB-1024KiB, ioengine=sync, iodepth=1
    ... fio-3.33
    ...   read: IOPS=143, BW=143MiB/s (150MB/s)(8.4GiB/60001msec)
    ... ''')
    >>> round(found.sequential_read_bytes_per_second / 1e6)
    150

    Raises:
        LookupError: nothing was read.
    """
    jobs = [job for job in (*_json_jobs(text), *_text_jobs(text)) if job.per_second > 0]
    if not jobs:
        raise LookupError("read")
    large = max((job for job in jobs if not _is_small(job)), key=lambda job: job.bytes_per_second, default=None)
    small = max((job for job in jobs if _is_small(job) and job.random), key=lambda job: job.per_second, default=None)
    known = small or large or jobs[0]
    return DiskSpeed(
        tool="fio",
        device=_device(text),
        direct=known.direct,
        requests_at_once=known.depth,
        sequential_read_bytes_per_second=large.bytes_per_second if large else None,
        random_reads_per_second=small.per_second if small else None,
        random_read_p99_seconds=small.p99_seconds if small else None,
    )


def _device(text: str) -> str:
    """The disk that every report names, the only one."""
    named = set(DISK_NAME.findall(text))
    for report in _json_reports(text):
        named |= {str(one.get("name")) for one in report.get("disk_util") or () if isinstance(one, dict)}
    return named.pop() if len(named) == 1 else ""


def _is_small(job: ReadJob) -> bool:
    return job.block_bytes <= SMALL_BYTES


def _text_jobs(text: str) -> Iterator[ReadJob]:
    """Jobs of the text form: headlines first, results after them in the same order."""
    jobs = [job for job in JOB.finditer(text) if "write" not in job[1] or job[1].endswith("rw")]
    for job, result in zip(jobs, _results(text), strict=False):
        rate, speed = IOPS.search(result), BANDWIDTH.search(result)
        if rate is None or speed is None:
            continue
        unit, p99, depth = UNIT.search(result), P99.search(result), DEPTH.search(job[2])
        yield ReadJob(
            random="rand" in job[1],
            block_bytes=_size(job[2]),
            bytes_per_second=_number(speed[1]) * (BINARY if speed[3] else DECIMAL)[speed[2].lower()],
            per_second=_number(rate[1]) * DECIMAL[rate[2].lower()],
            p99_seconds=int(p99[1]) * SECONDS[unit[1]] if unit and p99 else None,
            depth=int(depth[1]) if depth else 1,
            direct=None,
        )


def _results(text: str) -> Iterator[str]:
    """Each `read:` line with what follows it, up to the next one."""
    starts = [found.start() for found in READ.finditer(text)]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=False):
        yield text[start : min(end, start + 4000)]


def _json_jobs(text: str) -> Iterator[ReadJob]:
    for report in _json_reports(text):
        common = report.get("global options")
        for job in report["jobs"]:
            try:
                yield _json_job(job, common or {})
            except (KeyError, TypeError, ValueError, AttributeError):
                continue


def _json_reports(text: str) -> Iterator[dict[str, Any]]:
    """Every JSON object with jobs in a text; fio may have warned before it."""
    decoder, position = json.JSONDecoder(), text.find("{")
    for _ in range(MAX_REPORTS):
        if position < 0:
            return
        try:
            report, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            return
        if isinstance(report, dict) and isinstance(report.get("jobs"), list):
            yield report
        position = text.find("{", end)


def _json_job(job: dict[str, Any], common: dict[str, Any]) -> ReadJob:
    """One job; versions before 3 count bandwidth in KiB/s only and latency in microseconds."""
    options, read = common | job.get("job options", {}), job["read"]
    percentiles = (read.get("clat_ns") or {}).get("percentile") or {}
    p99 = percentiles.get("99.000000")
    return ReadJob(
        random="rand" in options.get("rw", options.get("readwrite", "read")),
        block_bytes=_size(str(options.get("bs", "4k"))),
        bytes_per_second=float(read.get("bw_bytes", read["bw"] * 1024)),
        per_second=float(read["iops"]),
        p99_seconds=None if p99 is None else float(p99) * 1e-9,
        depth=int(options.get("iodepth", 1)) * int(options.get("numjobs", 1)),
        direct=str(options["direct"]) == "1" if "direct" in options else None,
    )


def _number(cell: str) -> float:
    return number(cell.rstrip(".,"))


def _size(text: str) -> int:
    found = SIZE.match(text)
    if found is None:
        return 4096
    return int(found[1]) * BINARY[found[2].lower()]
