"""GPUs as `nvidia-smi -q -x` describes them, for every schema from driver 300 to 610, whole or cut short."""

import re
from collections.abc import Iterator
from xml.etree import ElementTree

from rigwise.probes.gpu.smi_views import EXACT_XML, Cell, GpuCells, ProcessCells, SmiView, cell, moment
from rigwise.records.evidence import Evidence

LOG = "nvidia_smi_log"
WHOLE_LOG = ("driver_version", "kmd_version", "cuda_version", "cuda_umd_version", "attached_gpus")
RENAMED = {"kmd_version": "driver_version", "cuda_umd_version": "cuda_version"}
REASONS = re.compile(r"clocks_(?:throttle|event)_reasons/clocks_(?:throttle|event)_reason_")
TAG = re.compile(r"<(/?)(\w+)[^<>]*?(/?)>")


def views_in_xml(evidence: Evidence) -> list[SmiView]:
    r"""One view for each log in the text; one for a piece of a log without its head.

    >>> piece = "<a>Not Active</a>\n</clocks>\n<fb_memory_usage>\n<total>12288 MiB</total>\n</fb_memory_usage>\n<pci>"
    >>> [view] = views_in_xml(Evidence(source="command", key="nvidia-smi -q -x", status="ok", text=piece))
    >>> [cell.text for cell in view.gpus[0].cells.values()]
    ['Not Active', '12288 MiB']
    """
    parts = re.split(rf"(?=<{LOG}\b)", evidence.text)
    roots = (_parsed(text) for text in (parts[1:] or [f"<{LOG}><gpu>{_headed(parts[0])}"]))
    return [_view(root, evidence) for root in roots if root is not None]


def _headed(piece: str) -> str:
    """A piece of one GPU's part, with the elements around it opened that it closes and never opens."""
    open_now: list[str] = []
    around: list[str] = []
    for tag in TAG.finditer(piece):
        closing, name, alone = tag.groups()
        if closing and open_now and open_now[-1] == name:
            open_now.pop()
        elif closing and not open_now:
            around.append(name)
        elif not closing and not alone:
            open_now.append(name)
        if len(open_now) > DEEPEST or len(around) > DEEPEST:
            return ""
    return "".join(f"<{name}>" for name in reversed(around) if name not in (LOG, "gpu")) + piece


def _parsed(text: str) -> ElementTree.Element | None:
    """The log itself: without a document type, whose entities could be hostile, and without what comes after it."""
    whole, end, _rest = text.partition(f"</{LOG}>")
    for attempt in (whole + end, _closed(re.sub(r"&(?!\w{1,8};)", "&amp;", whole))):
        try:
            return ElementTree.fromstring(attempt)
        except ElementTree.ParseError:
            continue
    return None


def _closed(text: str) -> str:
    """A log that was cut short, up to its last whole element, every open element closed; no part of a process list.

    >>> _closed("<nvidia_smi_log><gpu><uuid>GPU-1</uuid><name>Ge")
    '<nvidia_smi_log><gpu><uuid>GPU-1</uuid></gpu></nvidia_smi_log>'
    """
    still_open: list[tuple[str, int]] = []
    for tag in TAG.finditer(text):
        closing, name, alone = tag.groups()
        if closing and still_open and still_open[-1][0] == name:
            still_open.pop()
        elif not closing and not alone:
            still_open.append((name, tag.start()))
        if len(still_open) > DEEPEST:
            return ""
    end = text.rfind(">") + 1
    if still_open and "<" not in text[still_open[-1][1] + 1 :]:
        _cut, end = still_open.pop()
    if still_open and still_open[-1][0] == "processes":
        _cut, end = still_open.pop()
    return text[:end] + "".join(f"</{name}>" for name, _start in reversed(still_open))


def _view(root: ElementTree.Element, evidence: Evidence) -> SmiView:
    log = {RENAMED.get(tag, tag): cell(tag, found) for tag in WHOLE_LOG if (found := root.findtext(tag))}
    gpus = tuple(_gpu(index, gpu) for index, gpu in enumerate(root.findall("gpu")))
    return SmiView(
        evidence=evidence,
        exactness=EXACT_XML,
        gpus=gpus,
        log=log,
        taken_at=moment(root.findtext("timestamp", "")),
    )


def _gpu(index: int, gpu: ElementTree.Element) -> GpuCells:
    cells: dict[str, Cell] = {}
    for path, element in _leaves(gpu, ""):
        if path.startswith(("supported_clocks/", "mig_devices/", "processes/")):
            continue
        cells.setdefault(REASONS.sub("clocks_event_reasons/", path), cell(element.tag, element.text or ""))
    address = gpu.get("id", "")
    if address:
        cells.setdefault("pci/pci_bus_id", cell("gpu id", address))
    sliced = gpu.find("mig_devices")
    if sliced is not None:
        cells["num_mig_devices"] = cell("mig_devices", str(len(sliced)))
    if "clocks_throttle_reasons" in cells:
        cells.setdefault("clocks_event_reasons", cells["clocks_throttle_reasons"])
    return GpuCells(index=index, cells=cells, processes=_processes(gpu))


DEEPEST = 16
"""Elements of a real log lie up to 5 deep."""


def _leaves(element: ElementTree.Element, path: str) -> Iterator[tuple[str, ElementTree.Element]]:
    """Every element without children, with the tags that lead to it."""
    for child in element:
        below = f"{path}{child.tag}"
        if len(child) and path.count("/") < DEEPEST:
            yield from _leaves(child, f"{below}/")
        else:
            yield below, child


def _processes(gpu: ElementTree.Element) -> tuple[ProcessCells, ...] | None:
    processes = gpu.find("processes")
    if processes is None:
        return None
    listed = processes.findall("process_info")
    names = ("pid", "type", "process_name", "used_memory")
    return tuple(ProcessCells(*(info.findtext(name, "").strip() for name in names)) for info in listed)
