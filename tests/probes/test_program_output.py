"""Error texts in program output: their order, their quotes, and the numbers of out-of-memory texts."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigwise.probes.programs.allocation_failures import FORMS, allocation_failures
from rigwise.probes.programs.program_output import read_allocation_failures, read_told
from rigwise.probes.programs.quoting import BEFORE, MAX_QUOTED
from rigwise.probes.programs.unbroken import unbroken
from rigwise.records.evidence import Evidence, Quote, Status
from rigwise.records.reading import Reading, present
from rigwise.records.told import Told

GIB = 2**30
NO_LOG: Reading[tuple[str, ...]] = Reading("kernel log", None, Status.NOT_RECORDED, Quote("", ""))


def output(text: str) -> Reading[str]:
    evidence = Evidence(source="program output", key="program output", status=Status.OK, text=text)
    return present("program output", text, evidence)


def told(text: str) -> tuple[Told, ...]:
    return read_told(output(text), NO_LOG)


def test_texts_come_in_the_order_of_the_log_and_each_once() -> None:
    first, second = "CUDA error: misaligned address", "CUDA error: an illegal memory access was encountered"
    assert [one.signature for one in told(f"{second}\n{first}\n{second}\n")] == [
        "cuda_illegal_access",
        "cuda_misaligned",
    ]
    assert [one.signature for one in told(f"{first}\n{second}\n")] == ["cuda_misaligned", "cuda_illegal_access"]


def test_the_quote_is_the_line_and_of_a_long_line_what_matters() -> None:
    line = "RuntimeError: CUDA error: misaligned address"
    assert told(f"a\n{line}\nb")[0].quote.text == line
    (long,) = told("x" * 5000 + " CUDA error: misaligned address " + "y" * 5000)
    assert "misaligned address" in long.quote.text
    assert len(long.quote.text) <= MAX_QUOTED + BEFORE


def test_quotation_marks_of_a_web_page_are_plain_ones() -> None:
    (one,) = told("NVIDIA-SMI has failed because it couldn\u2019t communicate with the NVIDIA driver.")
    assert one.check == "driver_not_loaded"
    assert "\u2019" in one.quote.text


def test_a_version_in_a_text_is_said_as_people_write_it() -> None:
    (one,) = told("The NVIDIA driver on your system is too old (found version 11040).")
    assert "CUDA up to 11.4," in one.meaning


@pytest.mark.parametrize(
    ("text", "requested", "total", "free", "cached"),
    [
        (
            "CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 4.00 GiB total capacity; 2.75 GiB already "
            "allocated; 0 bytes free; 3.00 GiB cached)",
            20 * 2**20,
            4 * GIB,
            0,
            GIB // 4,
        ),
        (
            "CUDA out of memory. Tried to allocate\n1.50 GiB. GPU 0 has a total capacity of 8.00 GiB of which\n1.00 GiB"
            " is free. Of the allocated memory 4.00 GiB is allocated by PyTorch, with 1.00 GiB allocated in private "
            "pools (e.g., CUDA Graphs), and 2.00 GiB is reserved by PyTorch but unallocated.",
            GIB * 3 // 2,
            8 * GIB,
            GIB,
            2 * GIB,
        ),
        ("allocating 1024,00 MiB on device 0: cudaMalloc failed: out of memory", GIB, None, None, None),
        ("Failed to allocate request for 4.00GiB (4294967296B) on device ordinal 0", 4 * GIB, None, None, None),
        ("OutOfMemoryError: Out of memory allocating 8,589,934,592 bytes (allocated", 8 * GIB, None, None, None),
        ("OOM when allocating tensor with shape[1024,1024,256] and type half on", GIB // 2, None, None, None),
    ],
)
def test_the_numbers_of_an_out_of_memory_text(
    text: str, requested: int, total: int | None, free: int | None, cached: int | None
) -> None:
    (one,) = allocation_failures(text, "log")
    assert (one.requested_bytes, one.total_bytes, one.free_bytes, one.cached_bytes) == (requested, total, free, cached)


def test_a_failure_of_which_nobody_handed_anything_over_is_absent() -> None:
    assert (
        read_allocation_failures(Reading("x", None, Status.NOT_RECORDED, Quote("", ""))).status is Status.NOT_RECORDED
    )


@given(st.lists(st.sampled_from([form.start.pattern for form in FORMS]) | st.text(string.printable), max_size=8))
def test_no_text_breaks_it(pieces: list[str]) -> None:
    text = " ".join(pieces).replace(r"\s{1,40}", " ").replace("\\", "")
    assert all(one.quote.source == "log" for one in allocation_failures(text, "log"))
    assert all(one.quote.text for one in told(text))


WRAPPED = """\
(EngineCore pid=316)   File "/opt/venv/lib/python3.12/site-packages/vllm/v1/core/kv_cache_utils.py", line 2193, in get_
kv_cache_configs
(EngineCore pid=316)   File "/opt/venv/lib/python3.12/site-packages/vllm/v1/core/kv_cache_utils.py", line 758, in _chec
k_enough_kv_cache_memory
(EngineCore pid=316) ValueError: To serve at least one request with the model's max seq len (100000), (4.26 GiB KV cach
e is needed, which is larger than the available KV cache memory (4.25 GiB). Based on the available memory, the estimate
d maximum model length is 99744.
"""


def test_lines_broken_inside_words_are_whole_again() -> None:
    whole = unbroken(WRAPPED)
    assert "4.26 GiB KV cache is needed" in whole
    assert "the estimated maximum" in whole
    assert len(whole.splitlines()) == 3


@pytest.mark.parametrize(
    "line",
    [
        "2026-11-30 12:00:{n:02} INFO trainer.py:88 step {n:02} loss 0.1234 lr 1.0e-4 grad norm 0.52 tokens 16384",
        "{n:02} | 0.1234 | 1.0e-4 | 0.52 | 16384 | a table whose rows are all of the very same length, end",
        "=" * 100,
        "{n:x}a 3f786850e387550fdab836ed7e6dc881de23001b 89e6c98d92887913cadf06b2adb97f26cde4849b some/file/name",
    ],
)
def test_a_log_whose_lines_are_equally_long_stays_as_it_is(line: str) -> None:
    text = "".join(f"{line.format(n=number)}\n" for number in range(30, 60))
    assert unbroken(text) == text


@given(st.text(alphabet="ab .(\n", max_size=2000))
def test_joining_lines_loses_nothing_but_line_ends(text: str) -> None:
    assert unbroken(text).replace("\n", "") == text.replace("\n", "")


def test_the_program_whose_pytorch_it_was_is_known_by_what_stands_around() -> None:
    told_by = (
        "CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; 8.00 GiB total capacity; 7.00 GiB already allocated)"
    )
    for name, around in {"SGLang": "sglang/srt/model.py", "vLLM": "vllm/worker.py", "PyTorch": "train.py"}.items():
        (failure,) = allocation_failures(f'  File "{around}", line 1\n{told_by}\n', "log")
        assert failure.program == name
