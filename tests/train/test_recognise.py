"""Which exceptions mean out of memory: by type, then words, then the memory that was free."""

import subprocess
import sys

import pytest
import torch

import rigwise
from rigwise.train.batch.recognise import OutOfMemory, out_of_memory
from rigwise.units import GIB

LAYOUT = "cuDNN error: CUDNN_STATUS_NOT_SUPPORTED. This error may appear if you passed in a non-contiguous input."


class OutOfResources(Exception):
    """As triton.runtime.errors names it."""


def raised_from(outer: Exception, cause: Exception) -> Exception:
    try:
        raise outer from cause
    except Exception as error:
        return error


def test_b36_the_type_comes_before_the_words() -> None:
    found = out_of_memory(torch.OutOfMemoryError(LAYOUT))
    assert found == OutOfMemory(memory="device", certainty="certain", kind="OutOfMemoryError", text=LAYOUT)
    assert out_of_memory(RuntimeError(LAYOUT)) is None


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 9 bytes.")]
)
def test_ram_is_told_from_vram(error: Exception) -> None:
    found = out_of_memory(error)
    assert found is not None
    assert found.memory == "host"


def test_b36_asserts_and_kernel_limits_never_shrink_a_batch() -> None:
    full = {"free_bytes": 0, "total_bytes": 24 * GIB}
    assert out_of_memory(RuntimeError("CUDA error: device-side assert triggered"), **full) is None
    assert (
        out_of_memory(
            OutOfResources("out of resource: shared memory, Required: 131072, Hardware limit: 101376"), **full
        )
        is None
    )
    assert out_of_memory(RuntimeError(LAYOUT), **full) is None


@pytest.mark.parametrize(
    "text",
    ["CUDA driver error: device not ready", "!handles_.at(i) INTERNAL ASSERT FAILED at CUDACachingAllocator.cpp"],
)
def test_b34_near_the_limit_other_words_mean_it_too(text: str) -> None:
    error = RuntimeError(text)
    short = out_of_memory(error, free_bytes=GIB, total_bytes=24 * GIB)
    assert short is not None
    assert short.certainty == "likely"
    assert out_of_memory(error, free_bytes=2 * GIB, total_bytes=24 * GIB) is None
    assert out_of_memory(error) is not None


def test_b35_a_generic_runtime_error_of_cublas_means_it() -> None:
    assert out_of_memory(RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"))


def test_what_an_error_was_raised_from_counts() -> None:
    wrapped = raised_from(RuntimeError("worker 3 failed"), torch.OutOfMemoryError("CUDA out of memory. Tried"))
    assert out_of_memory(wrapped) is not None
    assert out_of_memory(raised_from(RuntimeError("worker 3 failed"), ValueError("x"))) is None


def test_the_library_is_there_by_name_and_imports_torch_only_when_asked_for() -> None:
    assert all(callable(getattr(rigwise, name)) for name in rigwise.LIBRARY)
    with pytest.raises(AttributeError, match="no attribute 'find_batches'"):
        _ = rigwise.find_batches
    code = "import rigwise, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
