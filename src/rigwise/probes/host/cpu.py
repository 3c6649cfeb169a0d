"""How busy the CPUs are and what limits them, from the machine's counters or from pasted reports."""

import re
from collections.abc import Sequence

from msgspec.structs import replace

from rigwise.probes.answers import line_with, parsed, parsed_line
from rigwise.probes.host import control_group, proc_stat
from rigwise.probes.host.columns import derived, first_present
from rigwise.probes.host.counter_looks import Looks
from rigwise.probes.host.cpu_lists import cpu_numbers
from rigwise.probes.host.cpu_reports import CpuReports, read_cpu_reports
from rigwise.probes.host.host import pressure_ratio
from rigwise.records.evidence import Evidence, Status
from rigwise.records.gpu import Gpu
from rigwise.records.host import Cpu
from rigwise.records.reading import Reading
from rigwise.sources.source import Source

FREQUENCY = "/sys/devices/system/cpu/cpu0/cpufreq"
GOVERNOR, DRIVER = re.compile(r'The governor "(\w{1,30})"'), re.compile(r"^\s{0,8}driver: ([\w-]{1,30})", re.MULTILINE)
"""What `cpupower frequency-info` writes."""
PROCESS_LIMIT = 64


def read_cpu(source: Source, looks: Looks, gpus: Sequence[Gpu] = ()) -> Cpu:
    """Use and limits of the CPUs."""
    stat = _cpu_lines(source.file("/proc/stat"))
    reports = CpuReports() if looks.answered else read_cpu_reports(source)
    counted = parsed("CPU time", _cpu_lines(looks.of("/proc/stat")) if looks.answered else stat, proc_stat.window)
    total, each = first_present(counted, *reports.total), first_present(counted, *reports.each)
    window = each.value or total.value
    return Cpu(
        total=derived(total, "CPU time", lambda found: found.total),
        each=derived(each, "CPU time per CPU", lambda found: found.each),
        window_seconds=window.seconds if window else None,
        since_boot=first_present(parsed("CPU time since boot", stat, proc_stat.since_boot), *reports.since_boot),
        load=first_present(parsed("load average", source.file("/proc/loadavg"), load_average), *reports.load),
        num_cpus=first_present(parsed("CPUs", stat, proc_stat.count_cpus), *reports.num_cpus),
        runnable=reports.runnable,
        processes=reports.processes,
        pressure_ratio=parsed_line("CPU pressure", source.file("/proc/pressure/cpu"), "some", pressure_ratio),
        io_pressure_ratio=parsed_line("I/O pressure", source.file("/proc/pressure/io"), "full", pressure_ratio),
        quota_cpus=control_group.quota_cpus(source),
        throttled_ratio=control_group.throttled_ratio(source),
        governor=_frequency(source, "CPU frequency governor", "scaling_governor", GOVERNOR),
        frequency_driver=_frequency(source, "CPU frequency driver", "scaling_driver", DRIVER),
        allowed=_allowed(source, "self"),
        process_cpus={pid: _allowed(source, str(pid)) for pid in _computing(gpus)},
        next_to_gpu={gpu.index: _next_to(source, gpu) for gpu in gpus if gpu.pci_bus_id.value},
    )


def _frequency(source: Source, name: str, file: str, told: re.Pattern[str]) -> Reading[str]:
    """What the kernel says of the frequency, or cpupower where somebody ran that."""
    shown = source.command([], key="cpupower frequency-info")
    return first_present(
        parsed(name, source.file(f"{FREQUENCY}/{file}"), str.strip),
        parsed(name, shown, lambda text: told.findall(text)[0]),
    )


def _cpu_lines(stat: Evidence) -> Evidence:
    """/proc/stat without its long lines about interrupts, which nobody wants to see quoted."""
    lines = [line for line in stat.text.splitlines() if line.startswith("cpu")]
    return replace(stat, text="\n".join(lines)) if stat.status is Status.OK and lines else stat


def load_average(text: str) -> tuple[float, float, float]:
    """The three averages of /proc/loadavg.

    >>> load_average("0.21 0.37 0.39 1/719 19737")
    (0.21, 0.37, 0.39)
    """
    one, five, fifteen = (float(cell) for cell in text.split()[:3])
    return one, five, fifteen


def _computing(gpus: Sequence[Gpu]) -> list[int]:
    processes = [process for gpu in gpus for process in gpu.processes.value or ()]
    return sorted({process.pid for process in processes if process.kind == "compute"})[:PROCESS_LIMIT]


def _allowed(source: Source, process: str) -> Reading[frozenset[int]]:
    status = source.file(f"/proc/{process}/status")
    return parsed("allowed CPUs", status, lambda text: cpu_numbers(line_with(text, "Cpus_allowed_list:").split()[1]))


def _next_to(source: Source, gpu: Gpu) -> Reading[frozenset[int]]:
    folder = f"/sys/bus/pci/devices/{(gpu.pci_bus_id.value or '').lower()}"
    return parsed("CPUs next to the GPU", source.file(f"{folder}/local_cpulist"), cpu_numbers)
