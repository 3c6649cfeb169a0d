"""The table of error texts, both ways: each row recognises its own texts, no other's, and nothing that is harmless."""

import string
import time

import msgspec
import pytest
from signature_texts import disguises, ordinary

from rigwise.knowledge.check_catalogue import check_catalogue
from rigwise.knowledge.signatures import Signature, literal_of, signatures, words_of
from rigwise.report.causes import commands

ROWS = signatures()
TEXTS = [(row, text) for row in ROWS for text in (row.sample, *row.variants)]
each_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
each_text = pytest.mark.parametrize(("row", "text"), TEXTS, ids=lambda value: getattr(value, "id", ""))

LOWER_CASE_NAMES = (
    "bitsandbytes",
    "xFormers",
    "cuBLAS",
    "cuDNN",
    "cuFFT",
    "cuSOLVER",
    "torch",
    "pip",
    "conda",
    "apt",
    "vLLM",
    "llama.cpp",
    "nouveau",
    "nvidia-smi",
    "/dev/shm",
)
LONGEST_SECONDS = 10.0
"""For 10 MB on a slow, shared machine; 1.8 s measured on two cores."""


def recognised(text: str, where: str) -> list[str]:
    return [row.id for row in ROWS if row.where == where and row.search(text)]


def test_there_are_enough_of_them() -> None:
    assert len(ROWS) >= 200
    assert {row.where for row in ROWS} == {"program", "kernel"}


@each_text
def test_a_text_is_recognised_by_its_own_row_and_no_other(row: Signature, text: str) -> None:
    assert recognised(text, row.where) == [row.id]


@each_row
def test_a_text_is_recognised_in_the_middle_of_others_and_broken_by_a_terminal(row: Signature) -> None:
    for name, disguised in disguises(row.sample).items():
        assert row.search(disguised), name


@each_row
def test_every_pattern_of_a_row_has_a_text(row: Signature) -> None:
    for pattern in row.patterns:
        alone = msgspec.structs.replace(row, patterns=(pattern,))
        assert any(alone.search(text) for text in (row.sample, *row.variants)), pattern


@each_row
def test_every_pattern_has_a_word_by_which_it_is_ruled_out_quickly(row: Signature) -> None:
    for pattern in row.patterns:
        assert len(literal_of(pattern)) >= 4, pattern


@each_text
def test_the_words_of_a_text_allow_its_row(row: Signature, text: str) -> None:
    assert row.may_be_in(words_of(f"step 1 of 20\n{text}\nstep 2 of 20\n"))


def test_the_words_of_a_long_log_are_few_and_rule_out_nearly_every_row() -> None:
    words = words_of(
        "".join(f"12:00:{number % 60} step {number} of 99999, loss 0.{number}\n" for number in range(20_000))
    )
    assert len(words) < 1000
    assert sum(row.may_be_in(words) for row in ROWS) < 10


@each_text
def test_the_meaning_can_be_said_of_every_text(row: Signature, text: str) -> None:
    found = row.search(text)
    assert found
    named = {name for _, name, _, _ in string.Formatter().parse(row.meaning) if name}
    assert named <= found.values.keys()
    assert "{" not in row.means(found.values)


@each_row
def test_a_row_is_written_for_people(row: Signature) -> None:
    assert row.check in check_catalogue()
    for sentence in (row.meaning, row.action, row.surer):
        assert sentence[0].isupper() or sentence.startswith(("{", *LOWER_CASE_NAMES))
        assert sentence.endswith(".")
        assert "!" not in sentence
        assert "please" not in sentence.casefold()
    assert commands(row.next_steps) == row.next_steps != ()
    assert row.sources
    assert all(source.startswith("https://") for source in row.sources)


@pytest.mark.parametrize("name", ordinary("programs"))
def test_nothing_is_recognised_in_what_healthy_programs_print(name: str) -> None:
    assert recognised(ordinary("programs")[name], "program") == []


@pytest.mark.parametrize("name", ordinary("kernel"))
def test_nothing_is_recognised_in_a_healthy_kernel_log(name: str) -> None:
    assert recognised(ordinary("kernel")[name], "kernel") == []


def test_a_text_that_is_only_spoken_of_is_passed_over_and_a_real_one_after_it_is_found() -> None:
    spoken = "If you see CUDA error: an illegal memory access was encountered, run compute-sanitizer.\n"
    real = "RuntimeError: CUDA error: an illegal memory access was encountered\n"
    assert recognised(spoken, "program") == []
    assert recognised(spoken + real, "program") == ["cuda_illegal_access"]


@pytest.mark.parametrize(
    "line",
    [
        '        "CUDA out of memory. Tried to allocate",  # CUDA OOM',
        "    raise RuntimeError('CUDA error: an illegal memory access was encountered')",
        'if "device-side assert triggered" in str(error):',
        'logger.warning("No CUDA GPUs are available")',
    ],
)
def test_source_code_is_no_error_text(line: str) -> None:
    assert recognised(f"def step():\n{line}\n    pass\n", "program") == []


def test_steps_of_no_length_tell_nothing() -> None:
    steps = "Epoch: [0][1{n}/50]\tTime {time} (8.0)\tData {data} (7.0)\n"
    times = [("0.000", "5.000"), ("0.000", "5.000"), ("1.000", "0.000")]
    log = "".join(steps.format(n=n, time=time, data=data) for n, (time, data) in enumerate(times))
    assert recognised(log, "program") == []


def test_a_long_log_is_searched_in_time() -> None:
    log = "".join(
        f"step {step} loss 0.1234 lr 1e-4 CUDA memory 21.3 GiB of 23.6 GiB, 123 samples/s\n" for step in range(130_000)
    )
    began = time.process_time()
    assert recognised(log, "program") == []
    assert time.process_time() - began < LONGEST_SECONDS
