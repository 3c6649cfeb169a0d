"""What everything that nvidia-smi printed says of a machine: its GPUs, its driver, or why it could not say.

Asked only where NVML's own answers are not at hand: of what people paste and of recordings without NVML.
"""

import re
from collections.abc import Callable
from typing import TypeVar

import msgspec

from rigwise.probes.answers import parsed, version_pair
from rigwise.probes.gpu.gpu_samples import views_in_dmon, views_in_pmon
from rigwise.probes.gpu.gpus_from_csv import views_in_csv, views_of_processes
from rigwise.probes.gpu.gpus_from_list import views_in_list
from rigwise.probes.gpu.gpus_from_query import views_in_query
from rigwise.probes.gpu.gpus_from_table import HEADER, view_of_versions, views_in_table
from rigwise.probes.gpu.gpus_from_xml import views_in_xml
from rigwise.probes.gpu.merged_gpus import merged_gpus
from rigwise.probes.gpu.smi_messages import explained, last_message
from rigwise.probes.gpu.smi_views import EXACT_LIST, Cell, GpuCells, SmiView
from rigwise.probes.software import collect_env
from rigwise.probes.topology import copy_tests
from rigwise.records.evidence import Evidence, Status
from rigwise.records.gpu import Gpu
from rigwise.records.reading import Reading, absent, present
from rigwise.sources.source import Source

T = TypeVar("T")

READERS: dict[str, Callable[[Evidence], list[SmiView]]] = {
    "nvidia-smi -q -x": views_in_xml,
    "nvidia-smi -q": views_in_query,
    "nvidia-smi --query-gpu": views_in_csv,
    "nvidia-smi": views_in_table,
    "nvidia-smi --query-compute-apps": views_of_processes,
    "nvidia-smi dmon": views_in_dmon,
    "nvidia-smi pmon": views_in_pmon,
    "nvidia-smi -L": views_in_list,
    "nvidia-smi --version": lambda evidence: [view_of_versions(evidence)],
    collect_env.KEY: collect_env.views_in_report,
    copy_tests.KEY: copy_tests.views_in_copy_test,
}
"""The outputs by key, most exact first."""
UNOPENED = re.compile(
    r"Unable to determine the device handle for GPU\s{0,4}(?:(\d{1,3})\b(?!:[0-9A-Fa-f]{2}:)\s*:?\s*)?"
    r"([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d)?\s*:?\s*([^\n]{0,120})"
)

PRINTED = re.compile(
    r"\W{0,4}(?:NVIDIA-SMI (?:has failed because|couldn't find)|Failed to initialize NVML: "
    r"|No devices were found\W*$|Unable to determine the device handle for GPU)",
    re.IGNORECASE,
)
"""What stands at the beginning of a line, and in place of everything else, when nvidia-smi fails."""

IN_FIELDS = frozenset({4, 999})
"""`Insufficient Permissions` in place of a process's name, `ERR!` of a fan: a fragment of a sound answer holds them."""


class SmiAnswers:
    """All outputs of nvidia-smi at hand, as one answer."""

    def __init__(self, answers: list[Evidence]) -> None:
        self.answers = [answer for answer in answers if answer.status is not Status.NOT_RECORDED]
        readable = [answer for answer in self.answers if answer.status is Status.OK]
        self.views = [view for answer in readable for view in READERS[answer.key](answer)]
        self.views += [view for answer in self.answers if (view := _unopened(answer))]
        self.gpus: tuple[Gpu, ...] = merged_gpus(self.views)
        self.evidence = self._whole()

    def _whole(self) -> Evidence:
        """The answer that speaks for the whole machine: a failure where it came last, or nothing came besides it."""
        if not self.answers:
            return Evidence(source="command", key="nvidia-smi -q -x", status=Status.NOT_RECORDED)
        for answer in self.answers:
            failed = last_message(answer, HEADER)
            if failed is not None and not _unopened(answer):
                return failed
        if self.gpus or any(view.log for view in self.views):
            return next(view.evidence for view in self.views)
        first = self.answers[0]
        if first.status is not Status.OK:
            return explained(first)
        fragment = _as(first, Status.UNREADABLE)
        told = explained(fragment)
        return fragment if told.return_code in IN_FIELDS else told

    def num_gpus(self) -> Reading[int]:
        """How many GPUs the driver counts; what is shown may be fewer, where the evidence was cut."""
        name = "number of GPUs"
        counted = self._of_log(name, "attached_gpus", int)
        if self.evidence.status is not Status.OK or (counted.present and counted.need() >= len(self.gpus)):
            return counted
        if not self.gpus:
            return counted
        shown = ", ".join(f"GPU {gpu.index}" for gpu in self.gpus[:16])
        return present(name, len(self.gpus), self.evidence, shown)

    def driver_version(self) -> Reading[str]:
        """The driver's version."""
        return self._of_log("driver version", "driver_version", str)

    def cuda_driver_version(self) -> Reading[tuple[int, int]]:
        """The highest CUDA the driver supports; not in outputs older than driver 410."""
        return self._of_log("CUDA version of the driver", "cuda_version", version_pair)

    def nvml(self) -> Reading[str]:
        """Absent: nvidia-smi does not print NVML's version, but its failure is NVML's."""
        failed = self.evidence.status is not Status.OK
        return absent("NVML version", self.evidence, None if failed else Status.NOT_RECORDED)

    def taken_on(self) -> str:
        """The date of the last look, ISO 8601; "" where none has one."""
        return max((view.taken_at.date().isoformat() for view in self.views if view.taken_at), default="")

    def _of_log(self, name: str, path: str, parse: Callable[[str], T]) -> Reading[T]:
        for view in self.views:
            found = view.log.get(path)
            reading: Reading[T] = _read(name, view.evidence, found, parse) if found else absent(name, self.evidence)
            if reading.present:
                return reading
        failed = self.evidence.status is not Status.OK
        return absent(name, self.evidence, None if failed else Status.NOT_RECORDED)


def read_smi(source: Source) -> SmiAnswers:
    """Everything nvidia-smi printed, as far as the source holds it."""
    outputs = [key for key in READERS if key.startswith("nvidia-smi")]
    answers = [source.command(key.split(), key=key, timeout_seconds=20.0) for key in outputs]
    answers += collect_env.reports_of_gpus(source)
    answered = any(answer.status is not Status.NOT_RECORDED for answer in answers)
    if not answered and (measured := source.command([], key=copy_tests.KEY)).status is Status.OK:
        return SmiAnswers([measured])
    return SmiAnswers(answers if answered else [*answers, _printed(source.program_output())])


def _printed(output: Evidence) -> Evidence:
    """The failures of nvidia-smi among what programs printed, as its answer; not recorded where there is none."""
    lines = [line.strip() for line in output.text.splitlines() if PRINTED.match(line)]
    told = Status.FAILED if lines else Status.NOT_RECORDED
    return msgspec.structs.replace(output, source="command", key="nvidia-smi", status=told, text="\n".join(lines))


def _unopened(evidence: Evidence) -> SmiView | None:
    """The GPUs that nvidia-smi could not open, each with its words for it.

    >>> text = "Unable to determine the device handle for GPU1: 0000:34:00.0: Unknown Error"
    >>> view = _unopened(Evidence(source="command", key="nvidia-smi", status=Status.FAILED, text=text))
    >>> view.gpus[0].index, view.gpus[0].cells["pci/pci_bus_id"].text, view.gpus[0].cells["handle"].text
    (1, '0000:34:00.0', 'Unknown Error')
    """
    found = {one[0]: one for one in UNOPENED.finditer(evidence.text)}
    gpus = []
    for line, one in found.items():
        cells = {"handle": Cell(one[3].strip(" .") or "Unknown Error", line)}
        if one[2]:
            cells["pci/pci_bus_id"] = Cell(one[2], line)
        gpus.append(GpuCells(index=int(one[1] or 0), cells=cells))
    numbered = all(one[1] for one in found.values())
    told = _as(evidence, Status.OK)
    return SmiView(evidence=told, exactness=EXACT_LIST, gpus=tuple(gpus), numbered=numbered) if gpus else None


def _read(name: str, evidence: Evidence, found: Cell, parse: Callable[[str], T]) -> Reading[T]:
    return parsed(name, evidence, lambda _line: parse(found.text), found.quoted)


def _as(evidence: Evidence, status: Status) -> Evidence:
    return msgspec.structs.replace(evidence, status=status)
