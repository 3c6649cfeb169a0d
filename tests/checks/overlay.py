"""A recording with a few answers changed: one TOML file is one case of one check."""

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from rigwise.records.evidence import Evidence, Status
from rigwise.records.finding import Action, Severity, Verdict
from rigwise.sources.answers import (
    command_answer,
    command_key,
    file_answer,
    kernel_log_answer,
    nvml_absence,
    nvml_answer,
    program_output_answer,
)
from rigwise.sources.recorded import RecordedSource

RECORDINGS = Path(__file__).parents[1] / "recordings"
Answer = str | dict[str, Any]
"""A text; or `{code = 15}` for NVML, `{status = "not_permitted", text = "..."}` for the others."""


class Case(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is changed, and what the check must say of it."""

    why: str
    expect: Verdict
    recording: str | None = None
    """None: nothing was recorded at all."""
    absent: tuple[str, ...] = ()
    """Paths, command keys and NVML keys that the recording does not hold; `kernel log`, and `nvml` for all of it."""
    nvml: dict[str, Answer] = {}
    files: dict[str, Answer] = {}
    commands: dict[str, Answer] = {}
    """By key; `kernel log` is the kernel log."""
    output: str | None = None
    """What programs printed."""
    torch: dict[str, Any] = {}
    """Fields of the framework probe's first framework."""
    torch_without: tuple[str, ...] = ()
    """Fields that it does not tell."""
    python: dict[str, Any] = {}
    """Fields of the framework probe's answer itself."""
    collected_at: str | None = None
    severity: Severity | None = None
    because_contains: str = ""
    because_lacks: str | None = None
    next_contains: str = ""
    next_lacks: str | None = None
    quotes: str = ""
    """A piece of the evidence that must be quoted."""
    target: str | None = None
    symptom_of: str | None = None
    decision: Action | None = None
    num_problems: int | None = None


def read_case(path: Path) -> Case:
    return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), Case)


class OverlaySource:
    """A recorded source, answering some questions as the case says."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._recording = RecordedSource(RECORDINGS / (case.recording or "none such"))

    @property
    def name(self) -> str:
        return f"{self._case.recording} with changes"

    def nvml(self, name: str, gpu: int | None = None) -> Evidence:
        return self._dated(self._nvml(name, gpu))

    def command(self, argv: Sequence[str], *, key: str | None = None, timeout_seconds: float = 10.0) -> Evidence:
        return self._dated(self._command(command_key(argv, key)))

    def file(self, path: str) -> Evidence:
        answer = self._changed(path, self._case.files)
        if answer is None:
            return self._dated(self._recording.file(path))
        return self._dated(file_answer(path, answer[0], answer[1]))

    def program_output(self) -> Evidence:
        if self._case.output is not None:
            return self._dated(program_output_answer(Status.OK, self._case.output))
        if "nvml" in self._case.absent:
            return self._dated(program_output_answer(Status.NOT_RECORDED))
        return self._dated(self._recording.program_output())

    def kernel_log(self) -> Evidence:
        answer = self._changed("kernel log", self._case.commands)
        if answer is None:
            return self._dated(self._recording.kernel_log())
        return self._dated(kernel_log_answer(command_answer("kernel log", *answer)))

    def _changed(self, key: str, changes: dict[str, Answer]) -> tuple[Status, str, int | None] | None:
        """Status, text and code of a changed answer; None for one that stays as recorded."""
        if key in self._case.absent:
            return Status.NOT_RECORDED, "", None
        answer = changes.get(key)
        if isinstance(answer, dict):
            return Status(answer["status"]), answer.get("text", ""), answer.get("code")
        return None if answer is None else (Status.OK, answer, 0)

    def _command(self, key: str) -> Evidence:
        answer = self._changed(key, self._case.commands)
        if answer is not None:
            return command_answer(key, *answer)
        recorded = self._recording.command([], key=key)
        if key != "framework-probe" or recorded.status is not Status.OK:
            return recorded
        return msgspec.structs.replace(recorded, text=self._probe(recorded.text))

    def _nvml(self, name: str, gpu: int | None) -> Evidence:
        if {name, "nvml"} & set(self._case.absent):
            return nvml_absence(name, gpu, Status.NOT_RECORDED)
        own = name if gpu is None else f"{gpu}/{name}"
        for key in ("Init", f"{gpu}/DeviceGetHandleByIndex", own):
            answer = self._case.nvml.get(key)
            if isinstance(answer, dict) and "status" in answer:
                return nvml_absence(name, gpu, Status(answer["status"]))
            if isinstance(answer, dict):
                return nvml_answer(name, gpu, answer["code"], "")
            if answer is not None and key == own:
                return nvml_answer(name, gpu, 0, answer)
        return self._recorded_nvml(name, gpu)

    def _recorded_nvml(self, name: str, gpu: int | None) -> Evidence:
        """The recorded answer; a GPU that the case adds is otherwise like GPU 0."""
        recorded = self._recording.nvml(name, gpu)
        if gpu and recorded.status is Status.NOT_RECORDED:
            return msgspec.structs.replace(self._recording.nvml(name, 0), key=recorded.key)
        return recorded

    def _probe(self, text: str) -> str:
        answer = json.loads(text) | self._case.python
        for framework in answer["frameworks"][:1]:
            framework.update(self._case.torch)
            for field in self._case.torch_without:
                framework.pop(field, None)
        return json.dumps(answer)

    def _dated(self, answer: Evidence) -> Evidence:
        at = self._case.collected_at
        return answer if at is None else msgspec.structs.replace(answer, collected_at=at)
