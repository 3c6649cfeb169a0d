"""Limits of the control groups this process is in: CPU time and memory, of version 2 and version 1."""

import math
from collections.abc import Iterable
from functools import partial
from itertools import accumulate
from typing import NamedTuple

from rigwise.probes.answers import parsed
from rigwise.probes.host.columns import derived, first_present
from rigwise.probes.host.vmstat import counters
from rigwise.records.evidence import Evidence, Status
from rigwise.records.reading import Reading, not_asked
from rigwise.sources.source import Source

ROOT = "/sys/fs/cgroup"
UNLIMITED = math.inf
V1_NO_LIMIT_BYTES = 2**62
"""Version 1 writes "no limit" as the largest multiple of a page below 2^63."""
MAX_DEPTH = 8


def quota_cpus(source: Source) -> Reading[float]:
    """The smallest CPU limit, in CPUs; infinite where there is none."""
    name = "CPU limit of the control group"
    v2 = [parsed(name, answer, quota) for answer in _answers(source, "", "cpu.max")]
    v1 = parsed(name, _v1_quota(source), quota) if not _any(v2) else v2[0]
    return _smallest(name, [*v2, v1])


def throttled_ratio(source: Source) -> Reading[float]:
    """Share of scheduling periods in which a limit stopped the group."""
    name = "throttled periods of the control group"
    answers = [*_answers(source, "", "cpu.stat"), source.file(f"{ROOT}/cpu/cpu.stat")]
    found = [parsed(name, answer, throttled) for answer in answers]
    return max((one for one in found if one.present), key=lambda one: one.need(), default=first_present(*found))


class MemoryLimit(NamedTuple):
    """The smallest limit, and what its group uses."""

    limit_bytes: Reading[float]
    """Infinite where there is none."""
    used_bytes: Reading[int]
    """Without page cache that is easily given up."""


def memory_limit(source: Source) -> MemoryLimit:
    """The smallest memory limit above this process, of version 2 or else of version 1."""
    groups = source.file("/proc/self/cgroup").text
    v2 = [_memory_of(source, f"{ROOT}{folder}", "memory.max", "memory.current") for folder in folders(groups)]
    v1 = [
        _memory_of(source, f"{ROOT}/memory{folder}", "memory.limit_in_bytes", "memory.usage_in_bytes")
        for folder in folders(groups, "memory")
    ]
    found = [one for one in (*v2, *v1) if one.limit_bytes.present]
    return min(found, key=lambda one: one.limit_bytes.need()) if found else v2[0]


def _memory_of(source: Source, folder: str, limit: str, usage: str) -> MemoryLimit:
    allowed = parsed("memory limit of the control group", source.file(f"{folder}/{limit}"), byte_limit)
    name = "memory used under the limit"
    if not allowed.present:
        return MemoryLimit(allowed, not_asked(name))
    used, detail = (source.file(f"{folder}/{file}") for file in (usage, "memory.stat"))
    cache = counters(detail.text).get("inactive_file", 0) if detail.status is Status.OK else 0
    return MemoryLimit(allowed, derived(parsed(name, used, int), name, partial(_without, cache)))


def _without(cache: int, used: int) -> int:
    return max(0, used - cache)


def quota(text: str) -> float:
    r"""CPUs of one limit: `cpu.max`, or quota and period of version 1.

    >>> quota("200000 100000\n"), quota("max 100000"), quota("-1 100000")
    (2.0, inf, inf)
    """
    allowed, period = text.split()[:2]
    return UNLIMITED if allowed in ("max", "-1") else int(allowed[:18]) / int(period[:18] if int(period) else "x")


def throttled(text: str) -> float:
    r"""Share of the periods in cpu.stat that were cut short.

    >>> throttled("nr_periods 1000\nnr_throttled 250\nthrottled_usec 900\n")
    0.25
    """
    seen = counters(text)
    return min(1.0, seen["nr_throttled"] / seen["nr_periods"]) if seen["nr_periods"] else 0.0


def byte_limit(text: str) -> float:
    r"""Bytes of a memory limit.

    >>> byte_limit("8589934592\n"), byte_limit("max"), byte_limit("9223372036854771712")
    (8589934592.0, inf, inf)
    """
    word = text.split()[-1]
    value = UNLIMITED if word == "max" else float(int(word[:20]))
    return UNLIMITED if value >= V1_NO_LIMIT_BYTES else value


def folders(groups: str, controller: str = "") -> list[str]:
    r"""The group named in /proc/self/cgroup and the groups above it, below the root of the tree, shortest first.

    >>> folders("0::/user.slice/user-1000.slice\n")
    ['', '/user.slice', '/user.slice/user-1000.slice']
    """
    for line in groups.splitlines():
        _number, _, rest = line.partition(":")
        names, _, path = rest.partition(":")
        if controller in names.split(",") and path.startswith("/") and ".." not in path:
            parts = [part for part in path.strip().split("/") if part][:MAX_DEPTH]
            return list(accumulate(parts, lambda above, part: f"{above}/{part}", initial=""))
    return [""]


def _answers(source: Source, controller: str, file: str) -> list[Evidence]:
    groups = source.file("/proc/self/cgroup")
    return [source.file(f"{ROOT}{folder}/{file}") for folder in folders(groups.text, controller)]


def _v1_quota(source: Source) -> Evidence:
    """Quota and period of version 1 as one answer."""
    allowed, period = (source.file(f"{ROOT}/cpu/cpu.cfs_{part}_us") for part in ("quota", "period"))
    if Status.OK not in (allowed.status, period.status):
        return allowed
    return Evidence(
        source=allowed.source,
        key=allowed.key,
        status=period.status if allowed.status is Status.OK else allowed.status,
        text=f"{allowed.text.strip()} {period.text.strip()}",
    )


def _any(readings: Iterable[Reading[float]]) -> bool:
    return any(reading.present for reading in readings)


def _smallest(name: str, readings: list[Reading[float]]) -> Reading[float]:
    present = [reading for reading in readings if reading.present]
    return min(present, key=lambda reading: reading.need()) if present else first_present(*readings)
