"""A rig in at most four lines: GPUs, driver, host, Python. An absent value says why."""

from collections.abc import Iterable
from typing import Any

from rigwise.records.reading import Reading
from rigwise.records.rig import Framework, Gpu, Host, Interpreter, Rig
from rigwise.report.causes import absence_words
from rigwise.report.comparison import number
from rigwise.speech import say
from rigwise.units import GIB, memory

MAX_GPUS_IN_FULL = 2
"""More GPUs than this are grouped by name, or the line would not fit a terminal."""


def rig_lines(rig: Rig) -> tuple[str, ...]:
    """The rig in four lines, for people."""
    return _gpus_line(rig), _driver_line(rig), _host_line(rig.host), _python_line(rig.interpreter)


def _why(reading: Reading[Any]) -> str:
    """Why a reading is absent: the source's own words where it gave some."""
    said = reading.quote.text.splitlines()
    return f"{said[0]}" if said else absence_words(reading.status)


def _gpus_line(rig: Rig) -> str:
    if not rig.gpus:
        return say("no NVIDIA GPU: {why}", why=_why_no_gpu(rig))
    if len(rig.gpus) <= MAX_GPUS_IN_FULL:
        return "; ".join(_gpu(gpu) for gpu in rig.gpus)
    return "; ".join(_gpu_group(group) for group in _by_name(rig.gpus))


def _why_no_gpu(rig: Rig) -> str:
    if not rig.nvml.present:
        return _why(rig.nvml)
    if not rig.num_gpus.present:
        return _why(rig.num_gpus)
    return say("the driver lists {count}", count=rig.num_gpus.value)


def _gpu(gpu: Gpu) -> str:
    name = gpu.name.value_or(say("name {why}", why=absence_words(gpu.name.status)))
    if not gpu.reachable.present:
        return say("GPU {index}: {why}", index=gpu.index, why=absence_words(gpu.reachable.status))
    return f"GPU {gpu.index}: {name}, {_vram((gpu,))}, {_temperature((gpu,))}"


def _by_name(gpus: Iterable[Gpu]) -> list[tuple[Gpu, ...]]:
    groups: dict[str | None, list[Gpu]] = {}
    for gpu in gpus:
        groups.setdefault(gpu.name.value, []).append(gpu)
    return [tuple(group) for group in groups.values()]


def _gpu_group(group: tuple[Gpu, ...]) -> str:
    reachable = tuple(gpu for gpu in group if gpu.reachable.present)
    lost = [str(gpu.index) for gpu in group if not gpu.reachable.present]
    parts = []
    if reachable:
        name = reachable[0].name.value_or(say("GPU without a name"))
        parts.append(f"{len(reachable)} x {name}, {_vram(reachable)}, {_temperature(reachable)}")
    if lost:
        why = absence_words(next(gpu.reachable.status for gpu in group if not gpu.reachable.present))
        parts.append(say("GPU {indexes}: {why}", indexes=", ".join(lost), why=why))
    return "; ".join(parts)


def _vram(gpus: tuple[Gpu, ...]) -> str:
    totals = [gpu.memory_total_bytes.value for gpu in gpus if gpu.memory_total_bytes.value is not None]
    used = [gpu.memory_used_bytes.value for gpu in gpus if gpu.memory_used_bytes.value is not None]
    if not totals:
        return say("VRAM {why}", why=absence_words(gpus[0].memory_total_bytes.status))
    total = _span(totals, GIB) + " GiB"
    if not used:
        return say("{total}, used {why}", total=total, why=absence_words(gpus[0].memory_used_bytes.status))
    return say("{total} ({used} GiB used)", total=total, used=_span(used, GIB))


def _temperature(gpus: tuple[Gpu, ...]) -> str:
    known = [gpu.temperature_celsius.value for gpu in gpus if gpu.temperature_celsius.value is not None]
    if not known:
        return say("temperature {why}", why=absence_words(gpus[0].temperature_celsius.status))
    return f"{min(known)} °C" if min(known) == max(known) else f"{min(known)} to {max(known)} °C"


def _span(values: list[int], unit: int) -> str:
    low, high = number(min(values) / unit), number(max(values) / unit)
    return low if low == high else say("{low} to {high}", low=low, high=high)


def _driver_line(rig: Rig) -> str:
    if rig.driver_version.value is None:
        return say("no NVIDIA driver: {why}", why=_why(rig.driver_version))
    parts = [say("driver {version}", version=rig.driver_version.value)]
    loaded = rig.kernel_driver_version.value
    if loaded is not None and loaded != rig.driver_version.value:
        parts.append(say("kernel module {version}", version=loaded))
    cuda = rig.cuda_driver_version
    if cuda.value is None:
        parts.append(say("CUDA version {why}", why=absence_words(cuda.status)))
    else:
        parts.append(say("CUDA up to {major}.{minor}", major=cuda.value[0], minor=cuda.value[1]))
    return ", ".join(parts)


def _host_line(host: Host) -> str:
    parts = [host.os_name.value_or(say("OS {why}", why=absence_words(host.os_name.status)))]
    if host.container.value not in (None, "none"):
        parts.append(say("in a {container} container", container=host.container.value))
    if host.wsl.value:
        parts.append("WSL2")
    if host.num_cpus.value is None:
        parts.append(say("CPUs {why}", why=absence_words(host.num_cpus.status)))
    else:
        parts.append(say("1 CPU") if host.num_cpus.value == 1 else say("{count} CPUs", count=host.num_cpus.value))
    return ", ".join((*parts, _ram(host)))


def _ram(host: Host) -> str:
    if host.ram_total_bytes.value is None:
        return say("RAM {why}", why=absence_words(host.ram_total_bytes.status))
    text = say("RAM {total}", total=memory(host.ram_total_bytes.value))
    if host.ram_available_bytes.value is not None:
        text += say(" ({available} available)", available=memory(host.ram_available_bytes.value))
    if host.swap_used_bytes.value:
        text += say(", {used} of swap used", used=memory(host.swap_used_bytes.value))
    return text


def _python_line(interpreter: Reading[Interpreter]) -> str:
    if interpreter.value is None:
        return say("Python: {why}", why=_why(interpreter))
    frameworks = [_framework(framework) for framework in interpreter.value.frameworks]
    return ", ".join((f"Python {interpreter.value.version}", *(frameworks or [say("no AI framework")])))


def _framework(framework: Framework) -> str:
    name = f"{framework.name} {framework.version}".rstrip()
    if framework.error:
        return say("{name} (error: {error})", name=name, error=framework.error)
    if framework.cpu_only:
        return say("{name} (CPU only)", name=name)
    if framework.cuda_available is False:
        return say("{name} (sees no GPU)", name=name)
    if framework.device_count is not None:
        sees = say("sees {count} GPU", count=framework.device_count)
        return f"{name} (CUDA {framework.cuda_build}, {sees})" if framework.cuda_build else f"{name} ({sees})"
    return f"{name} (CUDA {framework.cuda_build})" if framework.cuda_build else name
