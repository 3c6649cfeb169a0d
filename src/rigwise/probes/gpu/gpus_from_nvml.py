"""GPUs as NVML describes them: one question per value, each answered or absent for its own reason."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from rigwise.probes.answers import above_zero, assignments, parsed
from rigwise.records.evidence import Evidence, Status
from rigwise.records.gpu import Gpu, GpuProcess, MemoryErrors, NvLink
from rigwise.records.reading import Reading, absent, present
from rigwise.sources.source import Source

T = TypeVar("T")

HANDLE = "DeviceGetHandleByIndex"
ENABLED = 1
"""NVML_FEATURE_ENABLED, and NVML_DEVICE_MIG_ENABLE."""
COMPUTE_MODES = ("Default", "Exclusive_Thread", "Prohibited", "Exclusive_Process")
VIRTUALIZATION_MODES = ("None", "Pass-Through", "VGPU", "Host VGPU", "Host VSGA")
RECOVERY_ACTIONS = (
    "None",
    "Reset",
    "Reboot",
    "Drain P2P",
    "Drain and Reset",
    "Recover IMEX Domain",
    "Bus Reset",
    "System Reboot",
)
FABRIC_STATES = ("Not Supported", "Not Started", "In Progress", "Completed")
"""NVML's enumerations, in the words of nvidia-smi."""


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
        memory_total_bytes=parsed("VRAM total", memory, _field("total", lambda text: above_zero(int(text)))),
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
        performance_state=read("performance state", "DeviceGetPerformanceState", int),
        mig_enabled=read("MIG mode", "DeviceGetMigMode", _field("current", _enabled)),
        processes=_processes(ask("DeviceGetComputeRunningProcesses"), ask("DeviceGetGraphicsRunningProcesses")),
        memory_errors=_memory_errors(ask),
        **_link(ask),
        **_modes(ask),
        **_places(source, ask("DeviceGetPciInfo")),
    )


def _link(ask: Callable[[str], Evidence]) -> dict[str, Reading[Any]]:
    """The PCIe link."""
    return {
        "pcie_link_gen": parsed("PCIe generation", ask("DeviceGetCurrPcieLinkGeneration"), int),
        "pcie_link_gen_max": parsed("highest PCIe generation", ask("DeviceGetMaxPcieLinkGeneration"), int),
        "pcie_link_gen_device_max": parsed(
            "highest PCIe generation of the GPU", ask("DeviceGetGpuMaxPcieLinkGeneration"), int
        ),
        "pcie_link_width": parsed("PCIe width", ask("DeviceGetCurrPcieLinkWidth"), int),
        "pcie_link_width_max": parsed("highest PCIe width", ask("DeviceGetMaxPcieLinkWidth"), int),
        "pcie_replays": parsed("PCIe replays", ask("DeviceGetPcieReplayCounter"), int),
    }


def _modes(ask: Callable[[str], Evidence]) -> dict[str, Reading[Any]]:
    """Modes, limits of the board and its links."""
    limits = ask("DeviceGetPowerManagementLimitConstraints")

    def chosen(name: str, key: str, words: Sequence[str]) -> Reading[str]:
        return parsed(name, ask(key), lambda text: words[int(text)])

    return {
        "power_limit_min_watts": parsed("lowest power limit", limits, _field("min", _watts)),
        "power_limit_max_watts": parsed("highest power limit", limits, _field("max", _watts)),
        "persistence_mode": parsed("persistence mode", ask("DeviceGetPersistenceMode"), _enabled),
        "display_active": parsed("display", ask("DeviceGetDisplayActive"), _enabled),
        "compute_mode": chosen("compute mode", "DeviceGetComputeMode", COMPUTE_MODES),
        "virtualization_mode": chosen("virtualization mode", "DeviceGetVirtualizationMode", VIRTUALIZATION_MODES),
        "recovery_action": chosen("GPU recovery action", "DeviceGetFieldValues.recovery_action", RECOVERY_ACTIONS),
        "temperature_memory_celsius": parsed(
            "memory temperature", ask("DeviceGetFieldValues.memory_temperature"), _plausible_celsius
        ),
        "temperature_memory_max_celsius": parsed(
            "highest operating temperature of the memory", ask("DeviceGetTemperatureThreshold.memory_max"), int
        ),
        "fan_ratio": parsed("fan speed", ask("DeviceGetFanSpeed"), _percent),
        "fabric_state": parsed(
            "fabric state", ask("DeviceGetGpuFabricInfo"), _field("state", lambda text: FABRIC_STATES[int(text)])
        ),
        "vbios": parsed("VBIOS version", ask("DeviceGetVbiosVersion"), str.strip),
        "nvlinks": parsed("NVLinks", ask("DeviceGetNvLinkState"), _nvlinks),
    }


def _places(source: Source, pci: Evidence) -> dict[str, Reading[Any]]:
    """Which NUMA node and CPUs are next to the GPU, as the kernel says."""
    try:
        folder = f"/sys/bus/pci/devices/{short_bus_id(assignments(pci.text)['busId'])}"
    except (LookupError, ValueError):
        return {}
    return {
        "numa_node": parsed("NUMA node", source.file(f"{folder}/numa_node"), int),
        "cpu_affinity": parsed("CPU affinity", source.file(f"{folder}/local_cpulist"), str.strip),
    }


def _memory_errors(ask: Callable[[str], Evidence]) -> MemoryErrors:
    """ECC counters, remapped rows, pending retirement."""
    rows = ask("DeviceGetRemappedRows")

    def errors(name: str, kind: str) -> Reading[int]:
        return parsed(name, ask(f"DeviceGetTotalEccErrors.{kind}"), int)

    return MemoryErrors(
        ecc_enabled=parsed("ECC mode", ask("DeviceGetEccMode"), _field("current", _enabled)),
        corrected_volatile=errors("corrected ECC errors since boot", "corrected.volatile"),
        uncorrected_volatile=errors("uncorrected ECC errors since boot", "uncorrected.volatile"),
        corrected_aggregate=errors("corrected ECC errors of the card's life", "corrected.aggregate"),
        uncorrected_aggregate=errors("uncorrected ECC errors of the card's life", "uncorrected.aggregate"),
        remapped_rows_corrected=parsed("rows remapped after corrected errors", rows, _field("corrected", int)),
        remapped_rows_uncorrected=parsed("rows remapped after uncorrected errors", rows, _field("uncorrected", int)),
        row_remap_pending=parsed("pending row remap", rows, _field("pending", _enabled)),
        row_remap_failure=parsed("failed row remap", rows, _field("failure", _enabled)),
        retired_pages_pending=parsed("pending page retirement", ask("DeviceGetRetiredPagesPendingStatus"), _enabled),
    )


def _enabled(text: str) -> bool:
    return int(text) == ENABLED


def _plausible_celsius(text: str) -> int:
    """A temperature; 0 is what a driver says of memory without a sensor."""
    if int(text) == 0:
        raise ValueError(text)
    return int(text)


def _nvlinks(text: str) -> tuple[NvLink, ...]:
    """The links of `link=0 active=1;link=1 active=0`.

    >>> [link.active for link in _nvlinks("link=0 active=1;link=1 active=0")]
    [True, False]
    """
    links = (assignments(one) for one in text.split(";") if one)
    return tuple(NvLink(link=int(link["link"]), active=_enabled(link["active"])) for link in links)


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
