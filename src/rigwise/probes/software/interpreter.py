"""The user's Python: which one it is, and what its frameworks see. Never our own import of a framework."""

import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from pathlib import Path

import msgspec

from rigwise.probes.answers import parsed
from rigwise.probes.software.collect_env import collected
from rigwise.probes.software.framework_transcript import transcript_frameworks
from rigwise.probes.software.packages import frameworks_of, python_packages
from rigwise.probes.software.printed_environment import printed_environment
from rigwise.records.evidence import Evidence, Status
from rigwise.records.reading import Reading
from rigwise.records.software import Framework, Interpreter
from rigwise.sources.source import Source

PROBE = Path(__file__).with_name("framework_probe.py")
PROBE_KEY = "framework-probe"
DEEP_KEY = "framework-probe-deep"
LIMIT_SECONDS = 60.0
DEEP_LIMIT_SECONDS = 180.0
"""TensorFlow and JAX start slowly, one after the other, each in a process of its own."""


def read_interpreter(source: Source, python: str | None = None) -> Reading[Interpreter]:
    """The interpreter's version, environment and frameworks; up to a minute, most of it `import torch`."""
    argv = [choose_interpreter(python), str(PROBE)]
    answer = source.command(argv, key=PROBE_KEY, timeout_seconds=LIMIT_SECONDS)
    if answer.status is Status.NOT_RECORDED:
        return _described_interpreter(source) or parsed("frameworks", answer, decoded)
    return parsed("frameworks", answer, decoded, _last_line(answer.text))


def read_framework_kernels(source: Source, python: str | None = None) -> Reading[Interpreter]:
    """The interpreter again, with one real kernel of TensorFlow and JAX too; up to three minutes."""
    argv = [choose_interpreter(python), str(PROBE), "--deep"]
    answer = source.command(argv, key=DEEP_KEY, timeout_seconds=DEEP_LIMIT_SECONDS)
    return parsed("framework kernels", answer, decoded, _last_line(answer.text))


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


def _described_interpreter(source: Source) -> Reading[Interpreter] | None:
    """The interpreter as people describe it: what was run, then reports, lists of packages and mentions."""
    described: list[tuple[Evidence, Interpreter]] = []
    for key, read in _DESCRIPTIONS:
        answer = source.command([], key=key)
        reading = parsed(key, answer, read)
        if reading.value is not None:
            described.append((answer, reading.value))
    printed = source.program_output()
    reading = parsed("program output", printed, printed_environment)
    if reading.value is not None:
        described.append((printed, reading.value))
    if not any(one.frameworks or one.packages for _answer, one in described):
        return None
    whole = reduce(_joined, (interpreter for _answer, interpreter in described))
    names = ", ".join(f"{one.name} {one.version}" for one in whole.frameworks)
    return Reading("frameworks", whole, Status.OK, described[0][0].quote(names or None))


def _transcript(text: str) -> Interpreter:
    python = re.search(r"^Python (\d+\.\d+\.\d+)", text, re.MULTILINE)
    return Interpreter(executable="python", version=python[1] if python else "", frameworks=transcript_frameworks(text))


def _package_list(text: str) -> Interpreter:
    packages = python_packages(text)
    python = re.search(r"^python\s+(\d+\.\d+\.\d+)", text, re.MULTILINE)
    return Interpreter(
        executable="python",
        version=python[1] if python else "",
        frameworks=frameworks_of(packages),
        packages=packages,
    )


def _variables(text: str) -> Interpreter:
    """The environment, as `env`, `export -p` or `set` print it.

    >>> _variables("export CUDA_VISIBLE_DEVICES='0,1'").cuda_visible_devices
    '0,1'
    """
    wanted = (
        r"^[ \t]*(?:export |set |declare -x )?"
        r"(CUDA_\w+|LD_LIBRARY_PATH|NCCL_\w+|NVIDIA_\w+|PYTORCH_\w+)=[\"']?([^\"'\n]*)"
    )
    found = dict(re.findall(wanted, text, re.MULTILINE))
    visible = found.get("CUDA_VISIBLE_DEVICES")
    return Interpreter(executable="python", version="", cuda_visible_devices=visible, environment=found)


_DESCRIPTIONS: tuple[tuple[str, Callable[[str], Interpreter]], ...] = (
    ("torch probe", _transcript),
    ("collect_env", lambda text: collected(text).interpreter),
    ("conda list", _package_list),
    ("pip list", _package_list),
    ("env", _variables),
)


def _joined(first: Interpreter, second: Interpreter) -> Interpreter:
    """Both descriptions of one interpreter; where they differ the first counts."""
    return Interpreter(
        executable=first.executable,
        version=first.version or second.version,
        cuda_visible_devices=(
            second.cuda_visible_devices if first.cuda_visible_devices is None else first.cuda_visible_devices
        ),
        frameworks=tuple(_each_once((*first.frameworks, *second.frameworks))),
        packages=first.packages or second.packages,
        environment=second.environment | first.environment,
        os_name=first.os_name or second.os_name,
    )


def _each_once(frameworks: Iterable[Framework]) -> list[Framework]:
    """Every framework once; what the first description of it does not tell comes from the others."""
    known: dict[str, Framework] = {}
    for framework in frameworks:
        known[framework.name] = _completed(known[framework.name], framework) if framework.name in known else framework
    return list(known.values())


def _completed(first: Framework, second: Framework) -> Framework:
    unknown = (None, "", (), "?")
    fields = first.__struct_fields__
    missing = {field: getattr(second, field) for field in fields if getattr(first, field) in unknown}
    asked = first.asked_for_cuda or second.asked_for_cuda
    return msgspec.structs.replace(first, **(missing | {"asked_for_cuda": asked}))
