"""GPUs as `nvidia-smi -q -x` describes them, for every schema from driver 340 to 610.

Renamed over the years, so tried in turn: `power_readings` and `gpu_power_readings`, `clocks_throttle_reasons` and
`clocks_event_reasons`, absolute temperature thresholds and T.Limit margins. Elements may be missing altogether.
"""

import re
from collections.abc import Callable
from datetime import datetime
from typing import TypeVar
from xml.etree import ElementTree

import msgspec

from rigwise.knowledge.clock_event_reasons import clock_event_reasons
from rigwise.probes.answers import parsed, version_pair
from rigwise.probes.gpus_from_nvml import short_bus_id
from rigwise.probes.smi_messages import explained, explained_value
from rigwise.records.evidence import Evidence, Status
from rigwise.records.gpu import Gpu, GpuProcess
from rigwise.records.reading import Reading, absent, present
from rigwise.sources.source import Source
from rigwise.units import MIB

T = TypeVar("T")

COMMAND = ("nvidia-smi", "-q", "-x")
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
DEFAULT_LIMIT = ("power_readings/default_power_limit", "gpu_power_readings/default_power_limit")
TIMESTAMP = "%a %b %d %H:%M:%S %Y"
STATES = frozenset({"Active", "Not Active"})
LINK = "pci/pci_gpu_link_info"


class SmiLog:
    """The answer of `nvidia-smi -q -x`: the parsed log, or why there is none."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = explained(evidence) if evidence.status is Status.FAILED else evidence
        self.root = ElementTree.Element("nvidia_smi_log")
        if self.evidence.status is not Status.OK:
            return
        try:
            self.root = ElementTree.fromstring(_log_element(self.evidence.text))
        except ElementTree.ParseError:
            self.evidence = explained(msgspec.structs.replace(self.evidence, status=Status.UNREADABLE))

    def value(self, name: str, tags: tuple[str, ...], parse: Callable[[str], T]) -> Reading[T]:
        """A value of the whole log."""
        return _value(name, self.evidence, self.root, tags, parse)

    def num_gpus(self) -> Reading[int]:
        """How many GPUs the driver counts; a trimmed log may show fewer."""
        counted = self.value("number of GPUs", ("attached_gpus",), int)
        shown = self.root.findall("gpu")
        if counted.present or not shown:
            return counted
        return present("number of GPUs", len(shown), self.evidence, f"<gpu> elements: {len(shown)}")

    def driver_version(self) -> Reading[str]:
        """The driver's version."""
        return self.value("driver version", ("driver_version", "kmd_version"), str)

    def cuda_driver_version(self) -> Reading[tuple[int, int]]:
        """The highest CUDA the driver supports; not in logs older than driver 410."""
        return self.value("CUDA version of the driver", ("cuda_version", "cuda_umd_version"), version_pair)

    def taken_on(self) -> str:
        """The log's own date, ISO 8601; "" where it has none."""
        try:
            return datetime.strptime(self.root.findtext("timestamp", "").strip(), TIMESTAMP).date().isoformat()
        except ValueError:
            return ""

    def gpus(self) -> tuple[Gpu, ...]:
        """Every GPU in the log, in its order."""
        return tuple(_gpu(index, gpu, self.evidence) for index, gpu in enumerate(self.root.findall("gpu")))


def read_smi_log(source: Source) -> SmiLog:
    """What `nvidia-smi -q -x` says."""
    return SmiLog(source.command(COMMAND, timeout_seconds=20.0))


def _gpu(index: int, gpu: ElementTree.Element, evidence: Evidence) -> Gpu:
    """One `<gpu>` element."""

    def read(name: str, *tags: str, parse: Callable[[str], T]) -> Reading[T]:
        return _value(name, evidence, gpu, tags, parse)

    return Gpu(
        index=index,
        reachable=_reachable(gpu, evidence),
        name=read("name", "product_name", parse=str),
        uuid=read("UUID", "uuid", parse=str),
        pci_bus_id=_bus_id(gpu, evidence),
        compute_capability=absent("compute capability", _part(evidence, "", Status.NOT_RECORDED)),
        memory_total_bytes=read("VRAM total", "fb_memory_usage/total", parse=_bytes),
        memory_used_bytes=read("VRAM used", "fb_memory_usage/used", parse=_bytes),
        memory_free_bytes=read("VRAM free", "fb_memory_usage/free", parse=_bytes),
        gpu_utilization_ratio=read("GPU utilisation", "utilization/gpu_util", parse=_ratio),
        memory_utilization_ratio=read("memory utilisation", "utilization/memory_util", parse=_ratio),
        temperature_celsius=read("temperature", "temperature/gpu_temp", parse=_whole),
        temperature_slowdown_celsius=_slowdown_temperature(gpu, evidence),
        power_draw_watts=read("power draw", *POWER_DRAW, parse=_number),
        power_limit_enforced_watts=read("enforced power limit", *ENFORCED_LIMIT, parse=_number),
        power_limit_default_watts=read("default power limit", *DEFAULT_LIMIT, parse=_number),
        sm_clock_mhz=read("SM clock", "clocks/sm_clock", parse=_whole),
        sm_clock_max_mhz=read("highest SM clock", "max_clocks/sm_clock", parse=_whole),
        memory_clock_mhz=read("memory clock", "clocks/mem_clock", parse=_whole),
        clocks_event_reasons=_clock_events(gpu, evidence),
        pcie_link_gen=read("PCIe generation", f"{LINK}/pcie_gen/current_link_gen", parse=_whole),
        pcie_link_gen_max=read("highest PCIe generation", f"{LINK}/pcie_gen/max_link_gen", parse=_whole),
        pcie_link_width=read("PCIe width", f"{LINK}/link_widths/current_link_width", parse=_whole),
        pcie_link_width_max=read("highest PCIe width", f"{LINK}/link_widths/max_link_width", parse=_whole),
        performance_state=read("performance state", "performance_state", parse=_whole),
        mig_enabled=read("MIG mode", "mig_mode/current_mig", parse=lambda text: text == "Enabled"),
        processes=_processes(gpu, evidence),
        driver_model=read("driver model", "driver_model/current_dm", parse=str),
    )


def _log_element(text: str) -> str:
    """The log itself: without a document type, whose entities could be hostile, and without what was pasted around."""
    found = re.search(r"<nvidia_smi_log\b.*</nvidia_smi_log>", text, re.DOTALL)
    return found[0] if found else ""


def _part(evidence: Evidence, text: str, status: Status = Status.OK) -> Evidence:
    return msgspec.structs.replace(evidence, text=text, status=status, return_code=None)


def _value(
    name: str, evidence: Evidence, parent: ElementTree.Element, tags: tuple[str, ...], parse: Callable[[str], T]
) -> Reading[T]:
    """The first of `tags` that holds a value; else why the first one present holds none."""
    if evidence.status is not Status.OK:
        return absent(name, evidence)
    without: Reading[T] = absent(name, _part(evidence, "", Status.NOT_RECORDED))
    for tag in tags:
        element = parent.find(tag)
        if element is None:
            continue
        text = (element.text or "").strip()
        answer, quoted = explained_value(evidence, text), f"{element.tag}: {text}"
        if answer.status is not Status.OK:
            if without.status is Status.NOT_RECORDED:
                without = absent(name, msgspec.structs.replace(answer, text=quoted))
            continue
        return _parsed_as(name, answer, parse, quoted)
    return without


def _parsed_as(name: str, answer: Evidence, parse: Callable[[str], T], quoted: str) -> Reading[T]:
    return parsed(name, answer, lambda _quoted: parse(answer.text), quoted)


def _whole(text: str) -> int:
    """The first whole number of a text: `93 C`, `16x`, `P8`."""
    return int(_number(text))


def _number(text: str) -> float:
    found = re.search(r"-?\d+(\.\d+)?", text)
    if found is None:
        raise ValueError(text)
    return float(found[0])


def _bytes(text: str) -> int:
    if not text.endswith("MiB"):
        raise ValueError(text)
    return _whole(text) * MIB


def _ratio(text: str) -> float:
    return _number(text) / 100


def _bus_id(gpu: ElementTree.Element, evidence: Evidence) -> Reading[str]:
    """The PCI address; in old logs only the `id` attribute holds it."""
    reading = _value("PCI address", evidence, gpu, ("pci/pci_bus_id",), short_bus_id)
    return reading if reading.present else parsed("PCI address", evidence, short_bus_id, gpu.get("id", ""))


def _reachable(gpu: ElementTree.Element, evidence: Evidence) -> Reading[bool]:
    """Whether the GPU answers; one value that says it is lost or needs a reset stands for all."""
    for element in gpu.iter():
        text = (element.text or "").strip()
        if "GPU is lost" in text or "GPU requires re" in text:
            answer = explained_value(evidence, text)
            return absent("GPU handle", msgspec.structs.replace(answer, text=f"{element.tag}: {text}"))
    return present("GPU handle", True, evidence, f'<gpu id="{gpu.get("id", "")}">')


def _slowdown_temperature(gpu: ElementTree.Element, evidence: Evidence) -> Reading[int]:
    """The temperature at which hardware slows the GPU.

    Since Ada and Hopper the log gives T.Limit, the margin left, and the margin at which slowdown begins, so that
    slowdown temperature = temperature + margin left - margin at slowdown.
    """
    name = "slowdown temperature"
    absolute = _value(name, evidence, gpu, ("temperature/gpu_temp_slow_threshold",), _whole)
    parts = [gpu.findtext(f"temperature/{tag}", "") for tag in ("gpu_temp", "gpu_temp_tlimit")]
    parts.append(gpu.findtext("temperature/gpu_temp_slow_tlimit_threshold", ""))
    if absolute.present or not all(re.fullmatch(r"-?\d+ C", part) for part in parts):
        return absolute
    now, margin, at_slowdown = map(_whole, parts)
    text = f"gpu_temp: {parts[0]}, gpu_temp_tlimit: {parts[1]}, gpu_temp_slow_tlimit_threshold: {parts[2]}"
    return present(name, now + margin - at_slowdown, evidence, text)


def _clock_events(gpu: ElementTree.Element, evidence: Evidence) -> Reading[int]:
    """The active reasons as NVML's bit mask."""
    name, bits = "clock event reasons", {reason.name: reason.bit for reason in clock_event_reasons()}
    for kind in ("event", "throttle"):
        reasons = gpu.find(f"clocks_{kind}_reasons")
        if reasons is None:
            continue
        said = {element.tag.removeprefix(f"clocks_{kind}_reason_"): element.text or "" for element in reasons}
        if said and STATES.issuperset(said.values()):
            active = [reason for reason, state in said.items() if state == "Active"]
            mask = sum(bits.get(reason, 0) for reason in active)
            return present(name, mask, evidence, f"active: {', '.join(active) or 'none'}")
        told = next((state for state in said.values() if state not in STATES), reasons.text or "")
        return absent(name, explained_value(evidence, told.strip()))
    return absent(name, _part(evidence, "", Status.NOT_RECORDED))


def _processes(gpu: ElementTree.Element, evidence: Evidence) -> Reading[tuple[GpuProcess, ...]]:
    """Every process the driver names for this GPU."""
    processes = gpu.find("processes")
    if processes is None:
        return absent("processes", _part(evidence, "", Status.NOT_RECORDED))
    told = (processes.text or "").strip()
    if told not in ("", "None"):
        return absent("processes", explained_value(evidence, told))
    listed = processes.findall("process_info")
    quoted = "; ".join(f"pid {_of(info, 'pid')} {_program(info)}: {_of(info, 'used_memory')}" for info in listed)
    return parsed("processes", evidence, lambda _line: tuple(map(_process, listed)), quoted or "processes: none")


def _of(info: ElementTree.Element, tag: str) -> str:
    return info.findtext(tag, "").strip()


def _process(info: ElementTree.Element) -> GpuProcess:
    used = _of(info, "used_memory")
    return GpuProcess(
        pid=_whole(_of(info, "pid")),
        name=_program(info),
        user="",
        used_bytes=_bytes(used) if used.endswith("MiB") else None,
        kind="compute" if "C" in _of(info, "type") else "graphics",
    )


def _program(info: ElementTree.Element) -> str:
    return program_name(_of(info, "process_name"))


def program_name(command: str) -> str:
    """The program's own name, without its folder and arguments.

    >>> program_name("/usr/lib/firefox/firefox --type=gpu"), program_name("python"), program_name("N/A")
    ('firefox', 'python', '')
    """
    if command in ("N/A", "[Not Found]", "[Insufficient Permissions]"):
        return ""
    return command.split(" -", 1)[0].replace("\\", "/").rsplit("/", 1)[-1]
