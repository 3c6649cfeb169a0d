"""What limits RAM and what happened when it ran out, from the machine's counters or from pasted reports."""

from collections.abc import Callable

from msgspec.structs import replace

from rigwise.probes.answers import above_zero, parsed, parsed_line
from rigwise.probes.host import control_group, df, free, htop, top, vmstat
from rigwise.probes.host.columns import derived, first_present
from rigwise.probes.host.counter_looks import Looks
from rigwise.probes.host.host import KIB, kib_line
from rigwise.probes.host.vmstat import SwapRates
from rigwise.records.evidence import Evidence, Status
from rigwise.records.host import Host, Memory
from rigwise.records.reading import Reading, absent
from rigwise.sources.source import Source

SHARED_MEMORY = "/dev/shm"


def read_memory(source: Source, looks: Looks) -> Memory:
    """Limits and events of RAM and swap."""
    meminfo, counters = source.file("/proc/meminfo"), source.file("/proc/vmstat")
    rates, limit = _swap_rates(source, looks), control_group.memory_limit(source)
    return Memory(
        swap_in_bytes_per_second=derived(rates, "swap-in rate", lambda found: found.read),
        swap_out_bytes_per_second=derived(rates, "swap-out rate", lambda found: found.written),
        limit_bytes=limit.limit_bytes,
        limited_used_bytes=limit.used_bytes,
        oom_kills=_counted("out-of-memory kills since boot", counters, "oom_kill ", _count),
        corrupted_bytes=_counted("RAM taken out of use", meminfo, "HardwareCorrupted:", kib_line),
        huge_pages_idle_bytes=_idle_huge_pages(meminfo),
        shared_memory_bytes=_shared_memory(source),
    )


def read_free(source: Source, host: Host) -> Host:
    """The host, its RAM as pasted output of `free` shows it where /proc/meminfo is not at hand."""
    if host.ram_total_bytes.present:
        return host
    shown = first_present(
        parsed("RAM", source.command(["free"], key="free"), free.memory),
        parsed("RAM", source.command([], key="htop"), htop.memory),
        parsed("RAM", source.command([], key="top"), top.memory),
    )
    found = {
        "ram_total_bytes": derived(shown, "RAM", lambda memory: above_zero(memory.ram_total)),
        "ram_available_bytes": derived(shown, "available RAM", lambda memory: memory.ram_available),
        "swap_total_bytes": derived(shown, "swap", lambda memory: memory.swap_total),
        "swap_used_bytes": derived(shown, "swap used", lambda memory: memory.swap_used),
    }
    return host if shown.value is None else replace(host, **found)


def idle_huge_pages(text: str) -> int:
    r"""Bytes of the huge pages in /proc/meminfo that no program uses.

    >>> idle_huge_pages("HugePages_Total: 100\nHugePages_Free: 40\nHugePages_Rsvd: 10\nHugepagesize: 2048 kB\n")
    62914560
    """
    values = {line.partition(":")[0]: line.split()[1] for line in text.splitlines() if len(line.split()) > 1}
    idle = int(values["HugePages_Free"]) - int(values.get("HugePages_Rsvd", 0))
    return max(0, idle) * int(values["Hugepagesize"]) * KIB


def _idle_huge_pages(meminfo: Evidence) -> Reading[int]:
    """Their bytes; not supported by a kernel that was built without huge pages."""
    name = "idle huge pages"
    if meminfo.status is Status.OK and "HugePages_Free" not in meminfo.text:
        return absent(name, meminfo, Status.NOT_SUPPORTED)
    return parsed(name, meminfo, idle_huge_pages)


def _counted(name: str, evidence: Evidence, start: str, parse: Callable[[str], int]) -> Reading[int]:
    """The number of a line that only some kernels have."""
    if evidence.status is Status.OK and start not in evidence.text:
        return absent(name, evidence, Status.NOT_SUPPORTED)
    return parsed_line(name, evidence, start, parse)


def _count(line: str) -> int:
    return int(line.split()[1])


def _swap_rates(source: Source, looks: Looks) -> Reading[SwapRates]:
    name = "swap rates"
    if not looks.answered:
        return parsed(name, source.command(["vmstat"], key="vmstat"), vmstat.swap_rates)
    before, after = looks.texts.get("/proc/vmstat", ("", ""))
    seconds = looks.seconds or 0.0
    return parsed(name, looks.of("/proc/vmstat"), lambda _text: vmstat.counted_swap_rates(before, after, seconds))


def _shared_memory(source: Source) -> Reading[int]:
    """Size of /dev/shm, through which loader workers hand over batches."""
    name = "size of /dev/shm"
    shown = parsed(name, source.command(["df", "-PT", SHARED_MEMORY], key="df /dev/shm"), df.file_systems)
    return derived(shown, name, lambda found: found[0].size_bytes or 0)
