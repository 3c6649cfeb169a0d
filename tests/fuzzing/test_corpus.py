"""Inputs that once crashed rigwise or kept it busy: each is answered, and in time."""

import sys
from io import BytesIO
from pathlib import Path

import pytest
from guards.own_files import ROOT

from rigwise.engine import judge
from rigwise.probes.rig import read_rig
from rigwise.report.json_text import check_json
from rigwise.sources.opening import open_source

sys.path.append(str(ROOT / "scripts" / "fuzz"))
from replay import faults

CORPUS = sorted(path for path in (Path(__file__).parent / "corpus").iterdir() if path.suffix == ".bin")

LONG = {
    "one line": b"x" * 2_000_000,
    "one word after another": b"GPU " * 500_000,
    "numbers": b"0123456789:" * 200_000,
    "brackets": b"([{<" * 500_000,
    "xml that never ends": b"<nvidia_smi_log>" + b"<gpu>" * 300_000,
    "xids": b"[   12.000001] NVRM: Xid (PCI:0000:41:00): 79, pid=1, GPU has fallen off the bus.\n" * 20_000,
    "spaces": b" " * 2_000_000 + b"Xid",
    "blank lines": b"\n" * 1_000_000,
    "a table of pipes": (b"|" + b"-" * 30) * 60_000,
    "tracebacks": b'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n' * 20_000,
    "key and value": b"a = b: c, d=e; " * 100_000,
    "prompts": b"ada@rig:~$ nvidia-smi\n" * 60_000,
}


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_a_kept_input_is_answered(path: Path) -> None:
    assert list(faults(path.read_bytes())) == []


@pytest.mark.parametrize("name", LONG)
def test_a_long_monotonous_input_takes_time_in_proportion(name: str) -> None:
    assert list(faults(LONG[name])) == []


def test_the_report_on_a_long_input_is_short() -> None:
    source = open_source(["-"], BytesIO(LONG["xml that never ends"]))
    assert len(check_json(judge(read_rig(source)))) < 2_000_000
