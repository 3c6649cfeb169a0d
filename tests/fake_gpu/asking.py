"""Asks a source everything a recording answers.

As a program, `asking.py SCENARIO FOLDER` asks the machine it runs on, records it in FOLDER and prints the answers.
"""

import shlex
import sys
from pathlib import Path

import msgspec

from rigwise.knowledge.nvml_calls import HANDLE, nvml_calls
from rigwise.records.evidence import Evidence, Status
from rigwise.sources import layout
from rigwise.sources.live import LiveSource
from rigwise.sources.recorder import Recorder
from rigwise.sources.source import Source


def ask_everything(source: Source, scenario: Path) -> list[Evidence]:
    """Every answer, in an order that does not depend on the source."""
    nvml = [source.nvml(key, gpu) for key, gpu in nvml_questions(scenario)]
    files = [source.file(path) for path in recorded_files(scenario)]
    commands = [
        source.command(shlex.split(key), key=key, timeout_seconds=0.5 if status is Status.TIMED_OUT else 20.0)
        for key, status in recorded_commands(scenario).items()
    ]
    return [*nvml, *files, *commands, source.kernel_log()]


def nvml_questions(scenario: Path) -> list[tuple[str, int | None]]:
    """Every row of nvml_calls.csv, for the system and for each GPU of the recording (GPU 0 where it has none)."""
    rows = layout.read_rows(scenario / layout.NVML, 4)
    gpus = sorted({int(gpu) for gpu, key, *_rest in rows if key == HANDLE}) or [0]
    system = [(call.key, None) for call in nvml_calls().values() if call.scope == "system"]
    return system + [(call.key, gpu) for gpu in gpus for call in nvml_calls().values() if call.scope == "gpu"]


def recorded_files(scenario: Path) -> list[str]:
    """The paths a recording answers for."""
    root = scenario / layout.FILES
    present = [f"/{path.relative_to(root)}" for path in root.rglob("*") if path.is_file()]
    return sorted(present + [path for path, *_rest in layout.read_rows(scenario / layout.FILE_INDEX, 3)])


def recorded_commands(scenario: Path) -> dict[str, Status]:
    """The commands a recording answers, and with which status."""
    rows = layout.read_rows(scenario / layout.COMMAND_INDEX, 5)
    return {key: Status(status) for key, status, *_rest in rows if key != layout.KERNEL_LOG_KEY}


if __name__ == "__main__":
    machine = Recorder(LiveSource(nvml_limit_seconds=3.0))
    answers = ask_everything(machine, Path(sys.argv[1]))
    machine.write(Path(sys.argv[2]), masked=False)
    sys.stdout.buffer.write(msgspec.json.encode(answers))
