"""Copies and load on each GPU, measured in the user's interpreter. Only asked with `--deep`."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from rigwise.probes.answers import parsed
from rigwise.probes.software.interpreter import choose_interpreter
from rigwise.records.evidence import Status
from rigwise.records.reading import Reading, absent
from rigwise.records.transfers import LookUnderLoad, Transfers
from rigwise.sources.source import Source

PROBE = Path(__file__).with_name("cuda_probe.py")
PROBE_KEY = "cuda-probe"
LIMIT_SECONDS = 60.0
MASK = re.compile(r"0x[0-9a-fA-F]{1,16}")
NUMBER = re.compile(r"\d{1,9}(?:\.\d+)?")
NAME = "copies and load on the GPUs"


def read_transfers(source: Source, python: str | None) -> Reading[Transfers]:
    """What the probe measured, in up to a minute; absent where its Python has no torch, or there is no GPU."""
    answer = source.command([choose_interpreter(python), str(PROBE)], key=PROBE_KEY, timeout_seconds=LIMIT_SECONDS)
    lines = answer.text.strip().splitlines()
    reading = parsed(NAME, answer, decoded, lines[-1] if lines else "")
    if reading.value is not None and not reading.value.gpus:
        return absent(NAME, answer, Status.NOT_SUPPORTED)
    return reading


def decoded(line: str) -> Transfers:
    """The probe's answer, its samples taken apart.

    >>> decoded('{"framework": "torch 2.14.1+cpu", "error": "no CUDA GPU", "gpus": [], "peers": []}').error
    'no CUDA GPU'

    Raises:
        ValueError: it is no such answer.
    """
    try:
        told = msgspec.json.decode(line, type=dict[str, Any])
        for gpu in told.get("gpus", ()):
            gpu["load"] = look_from(**gpu["load"]) if gpu.get("load") else None
        return msgspec.convert(told, Transfers)
    except (TypeError, AttributeError) as failure:
        raise ValueError(line) from failure


def look_from(
    seconds: float, fields: Sequence[str], samples: str, replays: Sequence[int | None] = (None, None)
) -> LookUnderLoad | None:
    r"""What nvidia-smi printed while the GPU worked; None where it printed no whole sample.

    >>> look = look_from(1.0, ["power.draw", "pcie.link.gen.current"], "301.5, 4, 0x4\n300.1, 4, 0x0\n299")
    >>> look.power_draw_watts, look.clocks_event_reasons, look.pcie_gen, look.pcie_gen_max
    ((301.5, 300.1), (4, 0), 4, None)
    """
    rows = [[cell.strip() for cell in line.split(",")] for line in samples.splitlines()]
    rows = [row for row in rows if len(row) == len(fields) + 1]
    if not rows:
        return None
    known = {field: tuple(_number(row[place]) for row in rows) for place, field in enumerate(fields)}
    before, after = replays
    return LookUnderLoad(
        seconds=seconds,
        utilization_percent=known.get("utilization.gpu", ()),
        power_draw_watts=known.get("power.draw", ()),
        power_limit_watts=_highest(known.get("power.limit", ())),
        temperature_celsius=known.get("temperature.gpu", ()),
        sm_clock_mhz=known.get("clocks.sm", ()),
        sm_clock_max_mhz=_highest(known.get("clocks.max.sm", ())),
        clocks_event_reasons=tuple(int(row[-1], 16) for row in rows if MASK.fullmatch(row[-1])),
        pcie_gen=_whole(known.get("pcie.link.gen.current", ())),
        pcie_gen_max=_whole(known.get("pcie.link.gen.max", ())),
        pcie_width=_whole(known.get("pcie.link.width.current", ())),
        pcie_width_max=_whole(known.get("pcie.link.width.max", ())),
        pcie_replays=None if before is None or after is None else max(0, after - before),
    )


def _number(cell: str) -> float | None:
    """A cell of nvidia-smi; None for `[N/A]` and other words."""
    return float(cell) if NUMBER.fullmatch(cell) else None


def _highest(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _whole(values: Sequence[float | None]) -> int | None:
    highest = _highest(values)
    return None if highest is None else int(highest)
