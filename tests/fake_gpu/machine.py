"""A recording as a machine of its own: the environment in which any program sees only what was recorded."""

import os
import shlex
import sys
from pathlib import Path

from fake_gpu.asking import recorded_commands
from fake_gpu.build import fake_library

from rigwise.knowledge.nvml_calls import INIT
from rigwise.records.evidence import Status
from rigwise.sources import layout
from rigwise.sources.recorded import RecordedSource

SERVER = Path(__file__).parent / "recorded_command.py"


def fake_machine(scenario: Path, folder: Path) -> dict[str, str]:
    """The environment for a child process; `folder` is an empty one for the machine's commands.

    Where the recording has no NVML library, there is none. Other NVML programs find it by LD_LIBRARY_PATH.
    """
    commands = folder / "bin"
    commands.mkdir(parents=True)
    for name in command_names(scenario):
        _write_command(commands / name, scenario)
    no_library = RecordedSource(scenario).nvml(INIT).status is Status.NOT_FOUND
    library = folder / "no-such-library.so" if no_library else fake_library()
    return os.environ | {
        "RIGWISE_NVML_LIBRARY": str(library),
        "RIGWISE_ROOT": str(scenario / layout.FILES),
        "FAKE_NVML_TSV": str(scenario / layout.NVML),
        "LD_LIBRARY_PATH": str(library.parent),
        "PATH": str(commands),
    }


def command_names(scenario: Path) -> set[str]:
    """The programs a recorded machine has."""
    commands = recorded_commands(scenario)
    found = {shlex.split(key)[0] for key, status in commands.items() if status is not Status.NOT_FOUND}
    return found | {"dmesg"}


def _write_command(path: Path, scenario: Path) -> None:
    call = shlex.join([sys.executable, "-I", str(SERVER), str(scenario), path.name])
    path.write_text(f'#!/bin/sh\nexec {call} "$@"\n')
    path.chmod(0o755)
