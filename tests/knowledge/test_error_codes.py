"""The codes and names are those of the vendors' own headers, and each says what to do."""

import importlib.util
import re
from pathlib import Path

import pynvml
import pytest

from rigwise.explain.words import blame_words
from rigwise.knowledge.check_catalogue import check_catalogue
from rigwise.knowledge.error_codes import ErrorCode, codes_named, codes_numbered, error_codes

LIBRARIES = {
    "NVML",
    "CUDA runtime",
    "CUDA runtime up to 10.0",
    "CUDA driver",
    "cuDNN",
    "cuDNN up to 8",
    "cuBLAS",
    "NCCL",
}
HEADERS = {
    "CUDA runtime": ("driver_types.h", r"enum __device_builtin__ cudaError\n(.*?)\n};", r"\b(cuda\w+)\s*=\s*(\d+)"),
    "CUDA driver": ("cuda.h", r"typedef enum cudaError_enum(.*?)} CUresult", r"\b(CUDA_[A-Z_0-9]+)\s*=\s*(\d+)"),
    "cuDNN": ("cudnn_graph.h", r"(CUDNN_STATUS_SUCCESS = 0.*?)} cudnnStatus_t", r"\b(CUDNN_STATUS_\w+)\s*=\s*(\d+)"),
    "cuBLAS": ("cublas_api.h", r"(CUBLAS_STATUS_SUCCESS.*?)}", r"\b(CUBLAS_STATUS_\w+)\s*=\s*(\d+)"),
    "NCCL": ("nccl.h", r"typedef enum \{ (ncclSuccess.*?)\}", r"\b(nccl(?!NumResults)\w+)\s*=\s*(\d+)"),
}


def in_table(library: str) -> dict[str, int]:
    return {row.name: row.code for row in error_codes() if row.library == library}


def header(name: str) -> str:
    """The text of a header that a pip package of NVIDIA brings; the test is skipped without it."""
    place = importlib.util.find_spec("nvidia")
    folders = [Path(folder) for folder in (place.submodule_search_locations or ())] if place else []
    found = [file for folder in folders for file in folder.rglob(name)]
    if not found:
        pytest.skip(f"{name} is in none of the installed packages")
    return found[0].read_text(encoding="utf-8", errors="replace")


def test_the_table_has_every_library() -> None:
    assert {row.library for row in error_codes()} == {*LIBRARIES, "exit status"}


def test_every_nvml_code_is_there() -> None:
    ours = {name: value for name, value in vars(pynvml).items() if re.fullmatch(r"NVML_(SUCCESS|ERROR_\w+)", name)}
    assert in_table("NVML") == ours


@pytest.mark.parametrize("library", HEADERS)
def test_every_code_of_a_header_is_there(library: str) -> None:
    name, block, line = HEADERS[library]
    listed = re.search(block, header(name), re.DOTALL)
    assert listed
    assert in_table(library) == {constant: int(code) for constant, code in re.findall(line, listed[1])}


@pytest.mark.parametrize("row", error_codes(), ids=lambda row: f"{row.library} {row.name}")
def test_a_row_says_what_it_means_and_what_to_do(row: ErrorCode) -> None:
    assert row.meaning[0].isupper() or row.meaning.startswith("cu")
    assert row.meaning.endswith(".")
    assert blame_words(row.blame)
    assert row.check in check_catalogue() or row.check == ""
    assert row.check or row.action.endswith(".")
    assert row.source.startswith("https://")


def test_a_number_means_several_things() -> None:
    assert {row.library for row in codes_numbered(8)} >= {"NVML", "CUDA runtime", "cuBLAS", "NCCL"}
    assert codes_numbered(123456) == ()


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("cudaErrorNoDevice", 100),
        ("cuda_error_no_device", 100),
        ("CUDA_ERROR_SYSTEM_NOT_READY", 802),
        ("NVMLError_LibRmVersionMismatch", 18),
        ("ncclSystemError", 2),
        ("CUDNN_STATUS_NOT_SUPPORTED", 3000),
    ],
)
def test_a_name_is_found_however_it_is_written(name: str, code: int) -> None:
    assert codes_named(name)[0].code == code
