"""The typed readings of a GPU from the cells of any output of nvidia-smi.

Renamed over the years, so tried in turn: `power_readings` and `gpu_power_readings`, ECC errors by single and double
bit or by SRAM and DRAM, absolute temperature thresholds and T.Limit margins. Cells may be missing altogether.
"""

import re
from typing import Any

import msgspec

from rigwise.knowledge.clock_event_reasons import clock_event_reasons
from rigwise.probes.answers import above_zero, parsed, version_pair
from rigwise.probes.gpu.cell_reader import CellReader, bytes_of_mib, count, enabled, number, ratio, whole, yes
from rigwise.probes.gpu.gpus_from_nvml import short_bus_id
from rigwise.probes.gpu.smi_messages import explained_value
from rigwise.probes.gpu.smi_views import Cell, GpuCells, ProcessCells
from rigwise.records.evidence import Evidence, Status
from rigwise.records.gpu import Gpu, GpuProcess, GpuSample, MemoryErrors
from rigwise.records.reading import Reading, absent, not_asked, present
from rigwise.units import MIB

POWER_DRAW = (
    "power_readings/power_draw",
    "gpu_power_readings/power_draw",
    "gpu_power_readings/instant_power_draw",
    "gpu_power_readings/average_power_draw",
)
ENFORCED_LIMIT = (
    "power_readings/enforced_power_limit",
    "gpu_power_readings/enforced_power_limit",
    "gpu_power_readings/current_power_limit",
    "gpu_power_readings/power_limit",
)
LINK = "pci/pci_gpu_link_info"
SM_CLOCK = ("clocks/sm_clock", "clocks/graphics_clock")
REASONS = "clocks_event_reasons/"
VITAL = ("temperature/gpu_temp", "power_readings/power_draw", "utilization/gpu_util")
FAILED = "ERR!"
STATES = frozenset({"Active", "Not Active"})
NOBODY = frozenset({"", "None"})
NO_EVIDENCE = Evidence(source="command", key="nvidia-smi", status=Status.OK)


def gpu_from_cells(gpu: GpuCells, evidence: Evidence) -> Gpu:
    """The GPU, every value absent that no cell tells."""
    read = CellReader(gpu.cells, evidence)
    return Gpu(
        index=gpu.index,
        reachable=_reachable(gpu, evidence),
        name=read.value("name", str, "product_name"),
        uuid=read.value("UUID", str, "uuid"),
        pci_bus_id=read.value("PCI address", short_bus_id, "pci/pci_bus_id"),
        compute_capability=read.value("compute capability", version_pair, "compute_cap"),
        memory_total_bytes=read.value(
            "VRAM total", lambda text: above_zero(bytes_of_mib(text)), "fb_memory_usage/total"
        ),
        memory_used_bytes=read.value("VRAM used", bytes_of_mib, "fb_memory_usage/used"),
        memory_free_bytes=read.value("VRAM free", bytes_of_mib, "fb_memory_usage/free"),
        gpu_utilization_ratio=read.value("GPU utilisation", ratio, "utilization/gpu_util"),
        memory_utilization_ratio=read.value("memory utilisation", ratio, "utilization/memory_util"),
        temperature_celsius=read.value("temperature", whole, "temperature/gpu_temp"),
        temperature_slowdown_celsius=_slowdown_temperature(read),
        power_draw_watts=read.value("power draw", number, *POWER_DRAW),
        power_limit_enforced_watts=read.value("enforced power limit", number, *ENFORCED_LIMIT),
        sm_clock_mhz=read.value("SM clock", whole, *SM_CLOCK),
        sm_clock_max_mhz=read.value("highest SM clock", whole, "max_clocks/sm_clock", "max_clocks/graphics_clock"),
        memory_clock_mhz=read.value("memory clock", whole, "clocks/mem_clock"),
        clocks_event_reasons=_clock_events(read),
        performance_state=read.value("performance state", whole, "performance_state"),
        mig_enabled=read.value("MIG mode", enabled, "mig_mode/current_mig"),
        num_mig_devices=read.value("number of MIG devices", count, "num_mig_devices"),
        processes=_processes(gpu, evidence),
        memory_errors=_memory_errors(read),
        **_link(read),
        **_limits(read),
        **_identity(read),
    )


def sample_from_cells(gpu: GpuCells) -> GpuSample:
    """What one moment of a watch tells; cheap, for there may be many."""

    def value(*paths: str) -> float | None:
        for path in paths:
            found = gpu.cells.get(path)
            match = re.match(r"-?\d+(?:[.,]\d+)?", found.text) if found else None
            if match:
                return float(match[0].replace(",", "."))
        return None

    busy, memory_busy = value("utilization/gpu_util"), value("utilization/memory_util")
    heat = value("thermal_violation")
    return GpuSample(
        gpu_utilization_ratio=None if busy is None else busy / 100,
        memory_utilization_ratio=None if memory_busy is None else memory_busy / 100,
        power_draw_watts=value(*POWER_DRAW),
        temperature_celsius=value("temperature/gpu_temp"),
        sm_clock_mhz=value(*SM_CLOCK),
        clocks_event_reasons=_clock_events(CellReader(gpu.cells, NO_EVIDENCE)).value,
        held_by_heat=None if heat is None else heat > 0,
    )


def _identity(read: CellReader) -> dict[str, Reading[Any]]:
    """Modes and versions."""
    return {
        "driver_model": read.value("driver model", str, "driver_model/current_dm"),
        "recovery_action": read.value("GPU recovery action", str, "gpu_recovery_action"),
        "persistence_mode": read.value("persistence mode", enabled, "persistence_mode"),
        "display_active": read.value("display", enabled, "display_active"),
        "compute_mode": read.value("compute mode", str, "compute_mode"),
        "virtualization_mode": read.value("virtualization mode", str, "gpu_virtualization_mode/virtualization_mode"),
        "addressing_mode": read.value("addressing mode", str, "addressing_mode"),
        "fabric_state": read.value("fabric state", str, "fabric/state"),
        "fabric_health": read.value("fabric health", str, "fabric/health/summary", "fabric/health/bandwidth"),
        "gsp_firmware": read.value("GSP firmware", str, "gsp_firmware_version"),
        "vbios": read.value("VBIOS version", str, "vbios_version"),
    }


def _limits(read: CellReader) -> dict[str, Reading[Any]]:
    """What the board allows, and its memory's heat."""

    def limit(name: str, which: str) -> Reading[Any]:
        return read.value(name, number, f"power_readings/{which}", f"gpu_power_readings/{which}")

    return {
        "power_limit_default_watts": limit("default power limit", "default_power_limit"),
        "power_limit_min_watts": limit("lowest power limit", "min_power_limit"),
        "power_limit_max_watts": limit("highest power limit", "max_power_limit"),
        "temperature_memory_celsius": read.value("memory temperature", whole, "temperature/memory_temp"),
        "temperature_memory_max_celsius": read.value(
            "highest operating temperature of the memory", whole, "temperature/gpu_temp_max_mem_threshold"
        ),
        "fan_ratio": read.value("fan speed", ratio, "fan_speed"),
    }


def _link(read: CellReader) -> dict[str, Reading[Any]]:
    """The PCIe link."""
    generation, width = f"{LINK}/pcie_gen", f"{LINK}/link_widths"
    return {
        "pcie_link_gen": read.value("PCIe generation", whole, f"{generation}/current_link_gen"),
        "pcie_link_gen_max": read.value("highest PCIe generation", whole, f"{generation}/max_link_gen"),
        "pcie_link_gen_device_max": read.value(
            "highest PCIe generation of the GPU", whole, f"{generation}/max_device_link_gen"
        ),
        "pcie_link_gen_host_max": read.value(
            "highest PCIe generation of the slot", _positive, f"{generation}/max_host_link_gen"
        ),
        "pcie_link_width": read.value("PCIe width", whole, f"{width}/current_link_width"),
        "pcie_link_width_max": read.value("highest PCIe width", whole, f"{width}/max_link_width"),
        "pcie_replays": read.value("PCIe replays", count, "pci/replay_counter"),
    }


def _positive(text: str) -> int:
    """A generation; 0 is no generation of PCIe, but what some virtual machines say of their slot."""
    generation = whole(text)
    if generation < 1:
        raise ValueError(text)
    return generation


def _memory_errors(read: CellReader) -> MemoryErrors:
    """ECC errors in the old layout (single_bit, double_bit) or the new one (sram, dram), and what was repaired."""

    def errors(name: str, kind: str, bit: str, word: str) -> Reading[int]:
        sram = f"ecc_errors/{kind}/sram_{word}"
        split = (f"{sram}_parity", f"{sram}_secded")
        in_parts = (sram,) if sram in read.cells else split
        return read.total(name, f"ecc_errors/{kind}/{bit}/total", *in_parts, f"ecc_errors/{kind}/dram_{word}")

    rows, pages = "remapped_rows/remapped_row", "retired_pages"
    single, double = f"{pages}/multiple_single_bit_retirement", f"{pages}/double_bit_retirement"
    return MemoryErrors(
        ecc_enabled=read.value("ECC mode", enabled, "ecc_mode/current_ecc"),
        corrected_volatile=errors("corrected ECC errors since boot", "volatile", "single_bit", "correctable"),
        uncorrected_volatile=errors("uncorrected ECC errors since boot", "volatile", "double_bit", "uncorrectable"),
        corrected_aggregate=errors("corrected ECC errors of the card's life", "aggregate", "single_bit", "correctable"),
        uncorrected_aggregate=errors(
            "uncorrected ECC errors of the card's life", "aggregate", "double_bit", "uncorrectable"
        ),
        sram_threshold_exceeded=read.value("SRAM error threshold", yes, "ecc_errors/aggregate/sram_threshold_exceeded"),
        remapped_rows_corrected=read.value("rows remapped after corrected errors", count, f"{rows}_corr"),
        remapped_rows_uncorrected=read.value("rows remapped after uncorrected errors", count, f"{rows}_unc"),
        row_remap_pending=read.value("pending row remap", yes, f"{rows}_pending"),
        row_remap_failure=read.value("failed row remap", yes, f"{rows}_failure"),
        retired_pages_single_bit=read.value("pages retired for single-bit errors", count, f"{single}/retired_count"),
        retired_pages_double_bit=read.value("pages retired for double-bit errors", count, f"{double}/retired_count"),
        retired_pages_pending=read.value(
            "pending page retirement", yes, f"{pages}/pending_retirement", f"{pages}/pending_blacklist"
        ),
    )


def _reachable(gpu: GpuCells, evidence: Evidence) -> Reading[bool]:
    """Whether the GPU answers; one value that says it is lost or needs a reset stands for all."""
    for told in gpu.cells.values():
        if "GPU is lost" in told.text or "GPU requires re" in told.text:
            return absent("GPU handle", msgspec.structs.replace(explained_value(evidence, told.text), text=told.quoted))
    handle = gpu.cells.get("handle")
    if handle is not None:
        return absent("GPU handle", msgspec.structs.replace(explained_value(evidence, handle.text), text=handle.quoted))
    silent = _silent(gpu)
    if silent is not None:
        return absent("GPU handle", msgspec.structs.replace(explained_value(evidence, silent.text), text=silent.quoted))
    shown = next((gpu.cells[path].quoted for path in ("pci/pci_bus_id", "uuid") if path in gpu.cells), "")
    return present("GPU handle", True, evidence, shown or f"GPU {gpu.index}")


def _silent(gpu: GpuCells) -> Cell | None:
    """The first `ERR!` of a GPU that cannot even tell its name, or neither temperature, power nor load.

    A single one is no fault of the GPU: drivers under WSL print it for fans and power.
    """
    told = [gpu.cells[path] for path in VITAL if path in gpu.cells]
    failed = [cell for cell in told if cell.text == FAILED]
    name = gpu.cells.get("product_name")
    if name is not None and name.text == FAILED:
        return name
    return failed[0] if len(failed) == len(told) == len(VITAL) else None


def _slowdown_temperature(read: CellReader) -> Reading[int]:
    """The temperature at which hardware slows the GPU.

    Since Ada and Hopper the log gives T.Limit, the margin left, and the margin at which slowdown begins, so that
    slowdown temperature = temperature + margin left - margin at slowdown.
    """
    name = "slowdown temperature"
    absolute = read.value(name, whole, "temperature/gpu_temp_slow_threshold")
    paths = ("gpu_temp", "gpu_temp_tlimit", "gpu_temp_slow_tlimit_threshold")
    parts = [found for path in paths if (found := read.cells.get(f"temperature/{path}"))]
    if absolute.present or len(parts) < len(paths) or not all(re.fullmatch(r"-?\d+ C", one.text) for one in parts):
        return absolute
    now, margin, at_slowdown = (whole(one.text) for one in parts)
    return present(name, now + margin - at_slowdown, read.evidence, ", ".join(one.quoted for one in parts))


def _clock_events(read: CellReader) -> Reading[int]:
    """The active reasons as NVML's bit mask."""
    name = "clock event reasons"
    mask = read.value(name, lambda text: int(text, 16), f"{REASONS}active")
    bits = {f"{REASONS}{reason.name}": reason.bit for reason in clock_event_reasons()}
    said = {path: found for path, found in read.cells.items() if path in bits}
    if mask.present or not said:
        return mask
    strange = [found for found in said.values() if found.text not in STATES]
    if strange:
        return read.value(name, int, next(path for path, found in said.items() if found is strange[0]))
    active = [path for path, found in said.items() if found.text == "Active"]
    words = ", ".join(path.removeprefix(REASONS) for path in active)
    return present(name, sum(bits[path] for path in active), read.evidence, f"active: {words or 'none'}")


def _processes(gpu: GpuCells, evidence: Evidence) -> Reading[tuple[GpuProcess, ...]]:
    """Every process the driver names for this GPU."""
    name, told = "processes", gpu.cells.get("processes")
    if told is not None and told.text not in NOBODY:
        return absent(name, explained_value(evidence, told.text))
    if gpu.processes is None:
        return not_asked(name)
    listed = gpu.processes
    quoted = "; ".join(f"pid {one.pid} {program_name(one.name)}: {one.used}" for one in listed)
    return parsed(name, evidence, lambda _line: tuple(map(_process, listed)), quoted or "processes: none")


def _process(process: ProcessCells) -> GpuProcess:
    used = re.fullmatch(r"(\d+)\s*(?:MiB)?", process.used)
    return GpuProcess(
        pid=int(process.pid),
        name=program_name(process.name),
        user="",
        used_bytes=int(used[1]) * MIB if used else None,
        kind="graphics" if "G" in process.kind else "compute",
    )


def program_name(command: str) -> str:
    """The program's own name, without its folder and arguments.

    >>> program_name("/usr/lib/firefox/firefox --type=gpu"), program_name("python"), program_name("N/A")
    ('firefox', 'python', '')
    """
    if command.strip("[]") in ("N/A", "-", "Not Found", "Insufficient Permissions"):
        return ""
    return command.split(" -", 1)[0].replace("\\", "/").rsplit("/", 1)[-1]
