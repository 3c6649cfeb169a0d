"""What is fuzzed: any bytes through `check --from -` and `explain`, from recognition to the written report."""

import io
import time
from collections.abc import Callable
from functools import cache

from rigwise.engine import judge
from rigwise.errors import BadInput
from rigwise.explain import explain
from rigwise.probes.rig import read_rig
from rigwise.report.json_text import check_json
from rigwise.sources.opening import open_source

SECONDS_AT_LEAST = 1.0
SECONDS_PER_BYTE = 0.5e-6
"""No input of 10 MB may take over 5 s, on one core."""


def check_bytes(content: bytes) -> None:
    """Diagnoses what is pasted; evidence that is not recognised is refused in words, which is right."""
    try:
        source = open_source(["-"], io.BytesIO(content))
    except BadInput:
        return
    check_json(judge(read_rig(source, deep=True)))


def explain_bytes(content: bytes) -> None:
    """Explains the same text."""
    explain(content.decode("utf-8", "replace"))


@cache
def warm_up() -> None:
    """Loads every table and check once, which no input is to blame for."""
    check_bytes(b"[    0.000000] Linux version 6.8.0\n" * 3)
    explain_bytes(b"CUDA error: out of memory")


def seconds(examine: Callable[[bytes], None], content: bytes) -> float:
    """How long the input keeps a processor busy, whatever else this machine does."""
    began = time.process_time()
    examine(content)
    return time.process_time() - began


def limit_seconds(content: bytes) -> float:
    """How long it may take."""
    return SECONDS_AT_LEAST + SECONDS_PER_BYTE * len(content)
