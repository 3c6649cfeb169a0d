"""The NVML calls rigwise makes, one row each in nvml_calls.csv, validated once. Must not touch NVML itself."""

import csv
from functools import cache
from importlib import resources
from typing import Literal

import msgspec

INIT = "Init"
"""The row of `nvmlInit`: when it fails, every other row fails with it."""
HANDLE = "DeviceGetHandleByIndex"
"""The row that opens a GPU: when it fails, every other row of that GPU fails with it."""

Scope = Literal["system", "gpu"]
Encoding = Literal["text", "int", "fields", "items", "processes", "handle", "field", "nvlinks", "struct"]
Unit = Literal["", "bytes", "percent", "celsius", "milliwatts", "mhz", "bits"]
Pace = Literal["once", "slow", "fast"]


class NvmlCall(msgspec.Struct, frozen=True, kw_only=True):
    """One NVML call: what to call, and how its answer is written down."""

    key: str
    """The function's name without `nvml`, then `.` and the selector where one function has several rows."""
    functions: tuple[str, ...]
    """Names in nvidia-ml-py, newest first; an older driver lacks the newer ones."""
    arguments: tuple[str, ...]
    """Names of nvidia-ml-py constants passed after the handle; for a `struct`, of the structure to fill.

    Of several functions, the older ones take the handle alone.
    """
    scope: Scope
    encoding: Encoding
    names: tuple[str, ...] = ()
    """The fields of a structure, or names for the items of a tuple, in order."""
    unit: Unit
    """Of the numbers as NVML gives them, not as rigwise shows them."""
    pace: Pace
    """How often it is worth asking."""
    smi_equivalent: str
    """What shows the same with nvidia-smi."""


@cache
def nvml_calls() -> dict[str, NvmlCall]:
    """Every NVML call by key, in the order of the table.

    Raises:
        ValueError: the table itself is wrong.
    """
    text = resources.files("rigwise.knowledge").joinpath("nvml_calls.csv").read_text(encoding="utf-8")
    calls = [_parse(row) for row in csv.DictReader(text.splitlines())]
    by_key = {call.key: call for call in calls}
    if len(by_key) != len(calls):
        raise ValueError("nvml_calls.csv names a key twice")
    return by_key


def _parse(row: dict[str, str]) -> NvmlCall:
    encoding, _, names = row["encoding"].partition(":")
    fields = row | {
        "functions": row["functions"].split(),
        "arguments": row["arguments"].split(),
        "encoding": encoding,
        "names": [name for name in names.split(",") if name],
    }
    return msgspec.convert(fields, NvmlCall)
