"""A rig in at most four lines: GPUs, driver, host, Python. An absent value says why."""

from collections.abc import Iterable
from typing import Any

from rigwise.records.evidence import Status
from rigwise.records.gpu import Gpu
from rigwise.records.host import Host
from rigwise.records.reading import Reading
from rigwise.records.rig import Rig
from rigwise.records.software import Framework, Interpreter
from rigwise.report.causes import absence_words
from rigwise.speech import say
from rigwise.units import memory

NOT_KNOWN = frozenset({Status.NOT_RECORDED, Status.TIMED_OUT, Status.UNREADABLE})
"""Absences that leave open whether there is a GPU."""


def rig_lines(rig: Rig) -> tuple[str, ...]:
    """The rig in four lines, for people."""
    return _gpus_line(rig), _driver_line(rig), _host_line(rig.host), _python_line(rig.interpreter)


def _gpus_line(rig: Rig) -> str:
    if rig.gpus:
        return "; ".join(_gpu_group(group) for group in _by_name(rig.gpus))
    if rig.num_gpus.status in NOT_KNOWN:
        return say("GPUs: {why}", why=absence_words(rig.num_gpus.status))
    if rig.pci_gpus.value:
        return say("no usable NVIDIA GPU: {why}", why=_why_no_gpu(rig))
    return say("no NVIDIA GPU: {why}", why=_why_no_gpu(rig))


def _why_no_gpu(rig: Rig) -> str:
    if rig.num_gpus.present:
        return say("the driver lists none")
    if rig.pci_gpus.value == () and not rig.host.wsl.value:
        return say("none on the PCI bus")
    return say("driver {state}", state=_driver_state(rig.num_gpus))


def _driver_state(answer: Reading[Any]) -> str:
    """What NVML's failure says of the driver, in words; the return codes are those of nvmlReturn_t (nvml.h)."""
    words = {
        4: say("closed to this user"),
        9: say("not loaded"),
        12: say("not installed"),
        15: say("lost the GPU"),
        17: say("blocked by the operating system"),
        18: say("library and kernel module differ"),
        999: say("failed with an unknown error"),
    }
    return words.get(answer.return_code or 0) or absence_words(answer.status)


def _by_name(gpus: Iterable[Gpu]) -> list[tuple[Gpu, ...]]:
    groups: dict[str | None, list[Gpu]] = {}
    for gpu in gpus:
        groups.setdefault(gpu.name.value, []).append(gpu)
    return [tuple(group) for group in groups.values()]


def _gpu_group(group: tuple[Gpu, ...]) -> str:
    """GPUs of one name: what they have in common, and the ones that do not answer."""
    reachable = tuple(gpu for gpu in group if gpu.reachable.present)
    parts = []
    if reachable:
        name = (reachable[0].name.value or say("GPU without a name")).removeprefix("NVIDIA ")
        which = say("GPU {index}:", index=reachable[0].index) if len(reachable) == 1 else f"{len(reachable)} x"
        parts.append(f"{which} {name}, {_vram(reachable)}, {_temperature(reachable)}")
    parts += [_unreachable(gpu) for gpu in group if not gpu.reachable.present]
    return "; ".join(parts)


def _unreachable(gpu: Gpu) -> str:
    if gpu.reachable.status is Status.LOST:
        return say("GPU {index}: lost", index=gpu.index)
    return say("GPU {index}: {why}", index=gpu.index, why=absence_words(gpu.reachable.status))


def _vram(gpus: tuple[Gpu, ...]) -> str:
    totals = [gpu.memory_total_bytes.value for gpu in gpus if gpu.memory_total_bytes.value is not None]
    used = [gpu.memory_used_bytes.value for gpu in gpus if gpu.memory_used_bytes.value is not None]
    if not totals:
        return say("VRAM {why}", why=absence_words(gpus[0].memory_total_bytes.status))
    total = _span(totals)
    if not used:
        return say("{total} VRAM, used {why}", total=total, why=absence_words(gpus[0].memory_used_bytes.status))
    return say("{total} VRAM ({used} used)", total=total, used=_span(used))


def _temperature(gpus: tuple[Gpu, ...]) -> str:
    known = [gpu.temperature_celsius.value for gpu in gpus if gpu.temperature_celsius.value is not None]
    if not known:
        return say("temperature {why}", why=absence_words(gpus[0].temperature_celsius.status))
    return f"{min(known)} °C" if min(known) == max(known) else f"{min(known)} to {max(known)} °C"


def _span(values: list[int]) -> str:
    """Lowest to highest, in bytes with their unit."""
    low, high = memory(min(values)), memory(max(values))
    return low if low == high else say("{low} to {high}", low=low, high=high)


def _driver_line(rig: Rig) -> str:
    version, module = rig.driver_version.value, rig.kernel_driver_version.value
    if version is None:
        parts = [say("driver {state}", state=_driver_state(rig.driver_version))]
    else:
        parts = [say("driver {version}", version=version)]
    if module is not None and module != version:
        parts.append(say("kernel module {version}", version=module))
    if version is not None:
        parts.append(_cuda(rig.cuda_driver_version))
    return ", ".join(parts)


def _cuda(version: Reading[tuple[int, int]]) -> str:
    if version.value is None:
        return say("CUDA version {why}", why=absence_words(version.status))
    return say("CUDA up to {major}.{minor}", major=version.value[0], minor=version.value[1])


def _host_line(host: Host) -> str:
    system = host.os_name.value_or(say("OS {why}", why=absence_words(host.os_name.status)))
    if host.container.value not in (None, "none"):
        system = say("{system} in {container}", system=system, container=host.container.value)
    parts = [system]
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
        return say("Python {why}", why=absence_words(interpreter.status))
    frameworks = [_framework(framework) for framework in interpreter.value.frameworks]
    return ", ".join((f"Python {interpreter.value.version}", *(frameworks or [say("no AI framework")])))


def _framework(framework: Framework) -> str:
    name = f"{framework.name} {framework.version}".rstrip()
    if framework.cpu_only:
        return say("{name} (CPU only)", name=name)
    if framework.cuda_available is False:
        return say("{name} (sees no GPU)", name=name)
    if framework.error:
        return _failing(name, framework)
    if framework.device_count is not None:
        sees = say("sees {count} GPU", count=framework.device_count)
        return f"{name} (CUDA {framework.cuda_build}, {sees})" if framework.cuda_build else f"{name} ({sees})"
    return f"{name} (CUDA {framework.cuda_build})" if framework.cuda_build else name


def _failing(name: str, framework: Framework) -> str:
    """Its own words are evidence, and `rigwise check` quotes them."""
    if framework.cuda_available:
        return say("{name} (fails on the GPU)", name=name)
    return say("{name} (cannot be imported)", name=name)
