"""What NCCL was told by the environment, as `env` or its own log (NCCL_DEBUG=INFO) prints it."""

import re

from rigwise.records.evidence import Evidence, Status
from rigwise.records.reading import Reading, absent, present
from rigwise.sources.source import Source

VARIABLE = re.compile(r"^[ \t]*(?:export |set |declare -x )?(NCCL_\w{1,40})=[\"']?([^\"'\n]{0,200})", re.MULTILINE)
LOGGED = re.compile(r"NCCL INFO (NCCL_\w{1,40}) set by environment to ([\w.:,^=-]{1,100}?)\.?[ \t]*$", re.MULTILINE)


def read_nccl_settings(source: Source) -> Reading[dict[str, str]]:
    """The variables by name, from what a person handed over; a machine's own are those of its interpreter."""
    name = "NCCL's settings"
    listed, output = source.command([], key="env"), source.program_output()
    found = _found(listed, VARIABLE) | _found(output, LOGGED)
    told = listed if listed.status is Status.OK else output
    if told.status is not Status.OK or (told is output and "NCCL INFO" not in output.text):
        return absent(name, listed)
    shown = " ".join(f"{variable}={value}" for variable, value in found.items())
    return present(name, found, told, shown or "no variable of NCCL")


def _found(answer: Evidence, pattern: re.Pattern[str]) -> dict[str, str]:
    """The settings that one answer tells.

    >>> text = "node:1:2 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1."
    >>> _found(Evidence(source="command", key="x", status=Status.OK, text=text), LOGGED)
    {'NCCL_P2P_DISABLE': '1'}
    """
    return dict(pattern.findall(answer.text)) if answer.status is Status.OK else {}
