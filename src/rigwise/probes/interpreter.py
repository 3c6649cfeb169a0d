"""The user's Python: which one it is, and what its frameworks see. Never our own import of a framework."""

import importlib.util
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from rigwise.probes.answers import parsed
from rigwise.records.reading import Reading
from rigwise.records.software import Interpreter
from rigwise.sources.source import Source

PROBE = Path(__file__).with_name("framework_probe.py")
PROBE_KEY = "framework-probe"
LIMIT_SECONDS = 60.0


def read_interpreter(source: Source, python: str | None = None) -> Reading[Interpreter]:
    """The interpreter's version, environment and frameworks; up to a minute, most of it `import torch`."""
    argv = [choose_interpreter(python), str(PROBE)]
    answer = source.command(argv, key=PROBE_KEY, timeout_seconds=LIMIT_SECONDS)
    return parsed("frameworks", answer, decoded, _last_line(answer.text))


def choose_interpreter(given: str | None = None, environment: Mapping[str, str] = os.environ) -> str:
    """The Python to ask: given, else the active environment's, else our own if it has torch, else `python3`."""
    if given:
        return given
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        candidate = Path(environment.get(variable) or os.devnull, "bin", "python")
        if candidate.exists():
            return str(candidate)
    if importlib.util.find_spec("torch") is not None:
        return sys.executable
    return shutil.which("python3", path=environment.get("PATH")) or sys.executable


def decoded(line: str) -> Interpreter:
    """The probe's answer.

    >>> decoded('{"executable": "/usr/bin/python3", "version": "3.11.2", "frameworks": []}').version
    '3.11.2'
    """
    return msgspec.json.decode(line, type=Interpreter)


def _last_line(text: str) -> str:
    """What a framework printed on its own comes before the probe's answer."""
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""
