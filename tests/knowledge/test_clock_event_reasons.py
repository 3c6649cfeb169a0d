"""The bits of the clock event mask against nvidia-ml-py and against a recording."""

import os
from pathlib import Path
from xml.etree import ElementTree

import pynvml
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigwise.knowledge.clock_event_reasons import ClockEventReason, ClockEventVerdict, clock_event_reasons, reasons_in

SHARED = Path(os.environ.get("RIGWISE_SHARED") or Path(__file__).resolve().parents[3] / "shared")
RECORDING = SHARED / "evidence" / "smi_t4_595_1ce.xml"

each_reason = pytest.mark.parametrize("reason", clock_event_reasons(), ids=lambda reason: reason.name)


@each_reason
def test_a_bit_has_the_value_nvidia_gives_it(reason: ClockEventReason) -> None:
    named = [
        value
        for kind in ("Event", "Throttle")
        if (value := getattr(pynvml, f"nvmlClocks{kind}Reason{reason.nvml_name}", None)) is not None
    ]
    assert set(named) <= {reason.bit}


@each_reason
def test_a_reason_says_what_it_means_and_where_that_is_written(reason: ClockEventReason) -> None:
    assert reason.bit.bit_count() == 1
    assert reason.meaning.endswith(".")
    assert reason.source.startswith("https://docs.nvidia.com/")


def test_every_reason_of_this_nvidia_ml_py_is_in_the_table() -> None:
    table = sum(reason.bit for reason in clock_event_reasons())
    assert pynvml.nvmlClocksEventReasonAll & ~table == 0


def test_bits_and_names_are_unique_and_in_order() -> None:
    bits = [reason.bit for reason in clock_event_reasons()]
    assert bits == sorted(set(bits))
    assert len({reason.name for reason in clock_event_reasons()}) == len(bits)


@pytest.mark.skipif(not RECORDING.is_file(), reason="the shared recordings are not here")
def test_names_are_those_of_the_nvidia_smi_log() -> None:
    block = ElementTree.parse(RECORDING).getroot().find("gpu/clocks_event_reasons")
    assert block is not None
    recorded = {element.tag.removeprefix("clocks_event_reason_") for element in block}
    assert recorded
    assert recorded <= {reason.name for reason in clock_event_reasons()}


@pytest.mark.parametrize(
    ("mask", "worst"),
    [(0x1, "benign"), (0x4, "benign"), (0x24, "watch"), (0x48, "serious"), (0x88, "serious"), (1 << 40, "watch")],
)
def test_the_worst_reason_of_a_mask(mask: int, worst: str) -> None:
    order = list(ClockEventVerdict)
    assert max((reason.verdict for reason in reasons_in(mask)), key=order.index) == worst


@given(st.integers(min_value=0, max_value=2**64 - 1))
def test_no_bit_of_a_mask_is_lost(mask: int) -> None:
    assert sum(reason.bit for reason in reasons_in(mask)) == mask
