"""The disk of the current folder, measured: only `--deep` asks for it."""

import sys
from pathlib import Path

import msgspec

from rigwise.probes.answers import parsed
from rigwise.records.deep import DiskSpeed
from rigwise.records.evidence import Status
from rigwise.records.reading import Reading, absent
from rigwise.sources.source import Source

PROBE = Path(__file__).with_name("disk_probe.py")
PROBE_KEY = "disk-probe"
LIMIT_SECONDS = 30.0
"""More than the probe's own limit, after which it tells what it knows."""


def read_disk_speed(source: Source, folder: str = ".") -> Reading[DiskSpeed]:
    """Sequential, random and small-file reads; about 5 s, at most 20."""
    argv = [sys.executable, str(PROBE), folder]
    answer = source.command(argv, key=PROBE_KEY, timeout_seconds=LIMIT_SECONDS)
    found = parsed("disk speed", answer, decoded)
    if found.value is not None and found.value.refused:
        return absent("disk speed", answer, Status.NOT_SUPPORTED)
    return found


def decoded(text: str) -> DiskSpeed:
    r"""The probe's answer.

    >>> decoded('{"folder_type": "tmpfs", "refused": "in memory"}\n').refused
    'in memory'
    """
    try:
        found = msgspec.json.decode(text.strip().splitlines()[-1], type=DiskSpeed)
    except msgspec.DecodeError as failure:
        raise ValueError(str(failure)) from failure
    return msgspec.structs.replace(found, requests_at_once=1)
