"""Narrower readings: the one line of a log, or the facts of one framework, that a check quotes."""

import re

import msgspec

from rigwise.records.evidence import Quote, Status
from rigwise.records.reading import Reading
from rigwise.records.rig import Rig
from rigwise.records.software import Framework, Interpreter


def log_lines(log: Reading[tuple[str, ...]], pattern: str) -> tuple[Reading[str], ...]:
    """The lines of a log that match, oldest first; none where the log could not be read."""
    return tuple(
        Reading("kernel log", line, Status.OK, Quote(log.quote.source, line.strip()))
        for line in log.value_or(())
        if re.search(pattern, line)
    )


def framework_facts(interpreter: Reading[Interpreter], framework: Framework, *fields: str) -> Reading[Framework]:
    """One framework, quoted with the fields that matter as the probe printed them."""
    shown = ("name", "version", *fields)
    facts = ", ".join(f'"{field}": {msgspec.json.encode(getattr(framework, field)).decode()}' for field in shown)
    return Reading(framework.name, framework, Status.OK, Quote(interpreter.quote.source, facts))


def need_gpus_for(rig: Rig, framework: Framework) -> None:
    """Nothing, where there is a GPU for the framework: the driver lists one, or the framework itself named one.

    Raises:
        AbsentReading: nobody knows of one, so that a framework without CUDA is no fault.
    """
    if not (framework.device_capabilities or framework.device_count or framework.asked_for_cuda) or rig.num_gpus.value:
        rig.need_gpus()


def on_windows(rig: Rig) -> bool:
    """Whether the driver is Windows' own, also beneath WSL: its versions are numbered differently."""
    return in_wsl(rig) or any(gpu.driver_model.present for gpu in rig.gpus) or "Windows" in _system(rig)


def in_wsl(rig: Rig) -> bool:
    """Whether programs run in Linux beneath Windows, as far as anything says so."""
    return bool(rig.host.wsl.value) or "microsoft-standard" in _system(rig)


def _system(rig: Rig) -> str:
    """Everything that names the operating system."""
    interpreter = rig.interpreter.value
    return f"{rig.host.os_name.value or ''} {interpreter.os_name if interpreter else ''}"
