"""GPUs as NVML describes them: one question per value, each answered or absent for its own reason."""

from collections.abc import Callable
from typing import Any, TypeVar

from rigwise.probes.answers import assignments, parsed
from rigwise.records.evidence import Evidence, Status
from rigwise.records.gpu import Gpu, GpuProcess
from rigwise.records.reading import Reading, absent, present
from rigwise.sources.source import Source

T = TypeVar("T")

HANDLE = "DeviceGetHandleByIndex"
ENABLED = 1
"""NVML_FEATURE_ENABLED, and NVML_DEVICE_MIG_ENABLE."""


def read_nvml_version(source: Source) -> Reading[str]:
    """The NVML version, when NVML initialised; absent with its return code when not."""
    init = source.nvml("Init")
    evidence = source.nvml("SystemGetNVMLVersion")
    if init.status not in (Status.OK, Status.NOT_RECORDED):
        evidence = init
    return parsed("NVML version", evidence, str.strip)


def read_num_gpus(source: Source) -> Reading[int]:
    """How many GPUs the driver counts (`nvidia-smi --query-gpu=count`)."""
    return parsed("number of GPUs", source.nvml("DeviceGetCount"), int)


def read_driver_version(source: Source) -> Reading[str]:
    """The driver's version as its library gives it (`driver_version`)."""
    return parsed("driver version", source.nvml("SystemGetDriverVersion"), str.strip)


def read_cuda_driver_version(source: Source) -> Reading[tuple[int, int]]:
    """The highest CUDA the driver supports (`CUDA Version` in the header of nvidia-smi)."""
    return parsed("CUDA version of the driver", source.nvml("SystemGetCudaDriverVersion"), cuda_version)


def cuda_version(text: str) -> tuple[int, int]:
    """A CUDA version from its one-number form.

    >>> cuda_version("12040"), cuda_version("13020")
    ((12, 4), (13, 2))
    """
    number = int(text)
    return number // 1000, number % 1000 // 10


MOST_GPUS = 256
"""Our choice: more than any machine has, so that a damaged recording cannot make us ask for ever."""


def read_gpus(source: Source, num_gpus: Reading[int]) -> tuple[Gpu, ...]:
    """Every GPU the driver counts, reachable or not."""
    return tuple(read_gpu(source, index) for index in range(min(num_gpus.value_or(0), MOST_GPUS)))


def read_gpu(source: Source, index: int) -> Gpu:
    """One GPU. Where it gives no handle, every value is absent for that reason."""
    handle = source.nvml(HANDLE, index)

    def ask(key: str) -> Evidence:
        return source.nvml(key, index) if handle.status in (Status.OK, Status.NOT_RECORDED) else handle

    def read(name: str, key: str, parse: Callable[[str], T]) -> Reading[T]:
        return parsed(name, ask(key), parse)

    memory, utilization = ask("DeviceGetMemoryInfo"), ask("DeviceGetUtilizationRates")
    return Gpu(
        index=index,
        reachable=_reachable(handle, memory),
        name=read("name", "DeviceGetName", str.strip),
        uuid=read("UUID", "DeviceGetUUID", str.strip),
        pci_bus_id=read("PCI address", "DeviceGetPciInfo", lambda text: short_bus_id(assignments(text)["busId"])),
        compute_capability=read("compute capability", "DeviceGetCudaComputeCapability", _capability),
        memory_total_bytes=parsed("VRAM total", memory, _field("total", int)),
        memory_used_bytes=parsed("VRAM used", memory, _field("used", int)),
        memory_free_bytes=parsed("VRAM free", memory, _field("free", int)),
        gpu_utilization_ratio=parsed("GPU utilisation", utilization, _field("gpu", _percent)),
        memory_utilization_ratio=parsed("memory utilisation", utilization, _field("memory", _percent)),
        temperature_celsius=read("temperature", "DeviceGetTemperature", int),
        temperature_slowdown_celsius=read("slowdown temperature", "DeviceGetTemperatureThreshold.slowdown", int),
        power_draw_watts=read("power draw", "DeviceGetPowerUsage", _watts),
        power_limit_enforced_watts=read("enforced power limit", "DeviceGetEnforcedPowerLimit", _watts),
        power_limit_default_watts=read("default power limit", "DeviceGetPowerManagementDefaultLimit", _watts),
        sm_clock_mhz=read("SM clock", "DeviceGetClockInfo.sm", int),
        sm_clock_max_mhz=read("highest SM clock", "DeviceGetMaxClockInfo.sm", int),
        memory_clock_mhz=read("memory clock", "DeviceGetClockInfo.memory", int),
        clocks_event_reasons=read("clock event reasons", "DeviceGetCurrentClocksEventReasons", int),
        pcie_link_gen=read("PCIe generation", "DeviceGetCurrPcieLinkGeneration", int),
        pcie_link_gen_max=read("highest PCIe generation", "DeviceGetMaxPcieLinkGeneration", int),
        pcie_link_width=read("PCIe width", "DeviceGetCurrPcieLinkWidth", int),
        pcie_link_width_max=read("highest PCIe width", "DeviceGetMaxPcieLinkWidth", int),
        performance_state=read("performance state", "DeviceGetPerformanceState", int),
        mig_enabled=read("MIG mode", "DeviceGetMigMode", _field("current", lambda text: int(text) == ENABLED)),
        processes=_processes(ask("DeviceGetComputeRunningProcesses"), ask("DeviceGetGraphicsRunningProcesses")),
    )


def _reachable(handle: Evidence, memory: Evidence) -> Reading[bool]:
    """A handle opened before the GPU was lost stays valid; the next question then says so."""
    for answer in (handle, memory):
        if answer.status is Status.LOST:
            return absent("GPU handle", answer)
    if handle.status is Status.NOT_RECORDED and memory.status is Status.OK:
        return present("GPU handle", True, memory)
    return parsed("GPU handle", handle, lambda _text: True, "Success")


def short_bus_id(text: str) -> str:
    """A PCI address with the four-digit domain that /sys uses, in lower case.

    >>> short_bus_id("00000000:41:00.0"), short_bus_id("0000:0A:00.0")
    ('0000:41:00.0', '0000:0a:00.0')
    """
    domain, _, rest = text.strip().lower().partition(":")
    return f"{int(domain, 16):04x}:{rest}"


def _capability(text: str) -> tuple[int, int]:
    numbers = assignments(text)
    return int(numbers["major"]), int(numbers["minor"])


def _field(name: str, parse: Callable[[str], T]) -> Callable[[str], T]:
    return lambda text: parse(assignments(text)[name])


def _percent(text: str) -> float:
    return int(text) / 100


def _watts(text: str) -> float:
    return int(text) / 1000


def _processes(compute: Evidence, graphics: Evidence) -> Reading[tuple[GpuProcess, ...]]:
    """Both process lists as one; a process in both is a compute process."""
    if compute.status is not Status.OK or graphics.status is not Status.OK:
        return absent("processes", compute if compute.status is not Status.OK else graphics)
    quoted = f"compute: {compute.text.strip() or 'none'}; graphics: {graphics.text.strip() or 'none'}"
    return parsed("processes", compute, lambda _quoted: parse_processes(compute.text, graphics.text), quoted)


def parse_processes(compute: str, graphics: str) -> tuple[GpuProcess, ...]:
    """Processes of the compute and the graphics list, compute first, without names.

    >>> [(p.pid, p.used_bytes, p.kind) for p in parse_processes("pid=7 used_bytes=1024", "pid=9 used_bytes=N/A")]
    [(7, 1024, 'compute'), (9, None, 'graphics')]
    """
    found: dict[int, GpuProcess] = {}
    for kind, text in (("compute", compute), ("graphics", graphics)):
        for entry in filter(None, text.strip().split(";")):
            process = _process(assignments(entry), kind)
            found.setdefault(process.pid, process)
    return tuple(found.values())


def _process(fields: dict[str, Any], kind: str) -> GpuProcess:
    used = fields["used_bytes"]
    return GpuProcess(
        pid=int(fields["pid"]), name="", user="", used_bytes=None if used == "N/A" else int(used), kind=kind
    )
