"""What pasted output of mpstat, top, htop, vmstat, iostat and pidstat tells of the CPUs.

Nothing of it is asked of a live machine: there the kernel's own counters tell the same in less time.
"""

from typing import NamedTuple

from rigwise.probes.answers import parsed
from rigwise.probes.host import htop, iostat, mpstat, pidstat, top, vmstat
from rigwise.probes.host.columns import first_present
from rigwise.probes.host.proc_stat import CpuWindow
from rigwise.probes.topology import numa
from rigwise.records.host import CpuShare, ProcessLoad
from rigwise.records.reading import Reading, not_asked
from rigwise.sources.source import Source


class CpuReports(NamedTuple):
    """Readings in the order in which they are to be believed."""

    total: tuple[Reading[CpuWindow], ...] = ()
    each: tuple[Reading[CpuWindow], ...] = ()
    """Those that tell every CPU."""
    since_boot: tuple[Reading[CpuShare], ...] = ()
    num_cpus: tuple[Reading[int], ...] = ()
    load: tuple[Reading[tuple[float, float, float]], ...] = ()
    runnable: Reading[float] = not_asked("run queue")
    processes: Reading[tuple[ProcessLoad, ...]] = not_asked("processes by CPU")


def read_cpu_reports(source: Source) -> CpuReports:
    """What the reports at hand tell."""
    names = ("mpstat", "top", "vmstat", "iostat", "pidstat")
    per_cpu, screen, system, disks, tasks = (source.command([name], key=name) for name in names)
    bars = source.command([], key="htop")
    time, each, boot = "CPU time", "CPU time per CPU", "CPU time since boot"
    busiest = "processes by CPU"
    return CpuReports(
        total=(
            parsed(time, per_cpu, mpstat.window),
            parsed(time, system, vmstat.window),
            parsed(time, screen, top.window),
            parsed(time, disks, iostat.window),
            parsed(time, bars, htop.window),
        ),
        each=(
            parsed(each, per_cpu, mpstat.each_window),
            parsed(each, screen, top.each_window),
            parsed(each, bars, htop.window),
        ),
        since_boot=(parsed(boot, per_cpu, mpstat.since_boot), parsed(boot, disks, iostat.since_boot)),
        num_cpus=(
            parsed("CPUs", per_cpu, mpstat.count_cpus),
            parsed("CPUs", source.command([], key="nproc"), int),
            parsed("CPUs", source.command([], key="lscpu"), numa.count_cpus),
            parsed("CPUs", bars, htop.count_cpus),
        ),
        load=(parsed("load average", screen, top.load), parsed("load average", bars, htop.load)),
        runnable=parsed("run queue", system, vmstat.runnable),
        processes=first_present(
            parsed(busiest, tasks, pidstat.processes),
            parsed(busiest, screen, top.processes),
        ),
    )
