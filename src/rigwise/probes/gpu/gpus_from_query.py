"""GPUs as the text of `nvidia-smi -q` describes them, in all or in part (`-d`), with or without its indentation.

A line without a value opens a section. Which one is inside which is known by name, for a paste may lose the spaces.
"""

import re
from collections.abc import Iterator

import msgspec

from rigwise.knowledge.smi_fields import paths_by_label
from rigwise.probes.gpu.smi_views import EXACT_QUERY, Cell, GpuCells, ProcessCells, SmiView, cell, moment
from rigwise.records.evidence import Evidence

LOG_START = re.compile(r"={4,}\s*NVSMI LOG")
GPU_START = re.compile(r"\s*GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d)\s*$")
LABEL = re.compile(r"([^:]{2,60}?)\s*:(?:\s+(.*))?$")
INSIDE = {
    section: depth for label in paths_by_label() for depth, section in enumerate(label.split("/")[:-1]) if depth
} | {"bridge chip": 1, "health": 1}
"""Sections that stand inside another one, and how deep."""
OUTER = {
    section: label.split("/")[:depth]
    for label in paths_by_label()
    for depth, section in enumerate(label.split("/")[:-1])
}
"""The sections around one, for a paste that begins inside them."""
MIG_DEVICE = "mig device"
WHOLE_LOG = frozenset({"driver_version", "cuda_version", "attached_gpus", "timestamp"})
PROCESS_LABELS = {"type": "kind", "name": "name", "used gpu memory": "used"}


class _Draft(msgspec.Struct):
    """The log while it is read."""

    log: dict[str, Cell] = {}
    gpus: list[dict[str, Cell]] = []
    processes: list[list[dict[str, str]]] = []
    sections: list[str] = []


def views_in_query(evidence: Evidence) -> list[SmiView]:
    r"""One view for each log in the text.

    >>> text = "Attached GPUs : 1\nGPU 00000000:41:00.0\nTemperature\nGPU Current Temp : 38 C\n"
    >>> [view] = views_in_query(Evidence(source="command", key="nvidia-smi -q", status="ok", text=text))
    >>> view.gpus[0].cells["temperature/gpu_temp"]
    Cell(text='38 C', quoted='GPU Current Temp: 38 C')
    >>> cut = "GPU Link Info\n  Link Width\n    Max : 16x\n    Current : 4x\n"
    >>> [view] = views_in_query(Evidence(source="command", key="nvidia-smi -q", status="ok", text=cut))
    >>> [one.text for one in view.gpus[0].cells.values()]
    ['16x', '4x']
    """
    views = (_view(lines, evidence) for lines in _logs(evidence.text))
    return [view for view in views if view.gpus or view.log]


def _logs(text: str) -> Iterator[list[str]]:
    lines: list[str] = []
    for line in text.splitlines():
        if LOG_START.search(line):
            yield lines
            lines = []
        lines.append(line)
    yield lines


def _view(lines: list[str], evidence: Evidence) -> SmiView:
    draft = _Draft()
    for line in lines:
        _take(draft, line)
    if len(draft.gpus) > 1 and "pci/pci_bus_id" not in draft.gpus[0]:
        del draft.gpus[0], draft.processes[0]  # the end of a GPU whose beginning was cut off
    gpus = tuple(
        GpuCells(index=index, cells=cells, processes=_processes(cells, listed))
        for index, (cells, listed) in enumerate(zip(draft.gpus, draft.processes, strict=True))
    )
    told_at = draft.log.pop("timestamp", None)
    return SmiView(
        evidence=evidence,
        exactness=EXACT_QUERY,
        gpus=gpus,
        log=draft.log,
        taken_at=moment(told_at.text) if told_at else None,
    )


def _take(draft: _Draft, line: str) -> None:
    """One line: a GPU, a section or a value."""
    gpu, labelled = GPU_START.match(line), LABEL.match(line.lstrip())
    if gpu:
        draft.gpus.append({"pci/pci_bus_id": cell("Bus Id", gpu[1])})
        draft.processes.append([])
        draft.sections = []
    elif labelled and labelled[2]:
        _take_value(draft, labelled[1], labelled[2])
    elif line.strip():
        section = line.strip().rstrip(":").lower()
        depth = INSIDE.get(section, 0)
        if draft.sections[:1] != [MIG_DEVICE]:
            around = draft.sections[:depth]
            draft.sections = [*(around if len(around) == depth else OUTER.get(section, [])), section]


def _take_value(draft: _Draft, label: str, text: str) -> None:
    path = _path(draft.sections, label.lower())
    if not draft.gpus and "/" in path:  # `nvidia-smi -q | grep -A 9 'GPU Link Info'` of a machine with one GPU
        draft.gpus.append({})
        draft.processes.append([])
    if path in WHOLE_LOG:
        draft.log.setdefault(path, cell(label, text))
    elif not draft.gpus and "/" not in path:
        return
    elif label.lower() == "process id":
        draft.processes[-1].append({"pid": text.strip()})
    elif label.lower() in PROCESS_LABELS and draft.processes[-1] and not path:
        draft.processes[-1][-1].setdefault(PROCESS_LABELS[label.lower()], text.strip())
    elif label.lower() in ("processes", "compute processes"):
        draft.gpus[-1]["processes"] = cell(label, text)
    elif path:
        if "/" not in path:
            draft.sections = []
        draft.gpus[-1].setdefault(path, cell(label, text))


def _path(sections: list[str], label: str) -> str:
    """The path of a label in the section at hand, or outside of any; "" for one that nobody asks for."""
    if sections[:1] == [MIG_DEVICE]:
        return paths_by_label().get(label, "")
    inside = ("/".join((*sections[:depth], label)) for depth in range(len(sections), -1, -1))
    return next((paths_by_label()[one] for one in inside if one in paths_by_label()), "")


def _processes(cells: dict[str, Cell], listed: list[dict[str, str]]) -> tuple[ProcessCells, ...] | None:
    """The list; None where the output ends before it."""
    if not listed and "processes" not in cells:
        return None
    return tuple(
        ProcessCells(one["pid"], one.get("kind", "C"), one.get("name", ""), one.get("used", "N/A"))
        for one in listed
        if one["pid"].isdecimal()
    )
