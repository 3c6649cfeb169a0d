"""Every row of the table of out-of-memory texts, and the thirteen texts that mean it."""

import pytest

from rigwise.knowledge.out_of_memory import MemoryText, memory_text, memory_texts

THIRTEEN = {
    "torch": (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 24 GiB",
        "device",
    ),
    "CUDA runtime": ("RuntimeError: CUDA error: out of memory\nCUDA kernel errors might be reported later", "device"),
    "HIP": ("torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB", "device"),
    "Linux CPU": (
        "RuntimeError: [enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you "
        "tried to allocate 4000000000000 bytes. Error code 12 (Cannot allocate memory)",
        "host",
    ),
    "cuBLAS": ("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", "device"),
    "cuDNN": ("cuDNN error: CUDNN_STATUS_ALLOC_FAILED", "device"),
    "cuDNN 9": ("cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED", "device"),
    "cuDNN engine": ("RuntimeError: GET was unable to find an engine to execute this computation", "device"),
    "NCCL": ("ncclUnhandledCudaError: Call to CUDA function failed. Failed to CUDA calloc async 608 bytes", "device"),
    "driver": ("RuntimeError: CUDA driver error: device not ready", "device"),
    "Windows CPU": (
        "[enforce fail at ..\\c10\\core\\impl\\alloc_cpu.cpp:72] data. DefaultCPUAllocator: not enough memory: you "
        "tried to allocate 4294967296 bytes.",
        "host",
    ),
    "Python": ("MemoryError", "host"),
    "JAX": ("XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 4294967296 bytes.", "device"),
}
LOOK_ALIKES = (
    "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_SUPPORTED. This error may appear for a non-contiguous input.",
    "cuDNN error: CUDNN_STATUS_NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT",
    "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 131072, Hardware limit: 101376.",
    "triton.runtime.errors.OutOfResources: out of resource: registers, Required: 70000, Hardware limit: 65536",
    "RuntimeError: CUDA error: device-side assert triggered\nCUDA kernel errors might be asynchronously reported",
    "CUDA error: too many resources requested for launch",
    "torch.AcceleratorError: CUDA error: an illegal memory access was encountered",
    "RuntimeError: DataLoader worker (pid 7) is killed by signal: Bus error. It is possible that dataloader's workers "
    "are out of shared memory.",
    "OSError: [Errno 28] No space left on device",
    "RuntimeError: mat1 and mat2 shapes cannot be multiplied (32x128 and 64x10)",
    "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
    "IndexError: index 512 is out of bounds for dimension 0 with size 512",
    "ValueError: optimizer got an empty parameter list",
    "RuntimeError: CUDA error: no kernel image is available for execution on the device",
)


@pytest.mark.parametrize("row", memory_texts(), ids=lambda row: row.id)
def test_each_row_is_the_first_to_recognise_its_sample(row: MemoryText) -> None:
    found = memory_text(row.sample)
    assert found is not None
    assert found.id == row.id
    assert all(source.startswith("https://") for source in row.sources)


@pytest.mark.parametrize(("text", "memory"), THIRTEEN.values(), ids=THIRTEEN)
def test_the_thirteen_texts_mean_out_of_memory(text: str, memory: str) -> None:
    found = memory_text(text)
    assert found is not None
    assert found.memory == memory


@pytest.mark.parametrize("text", LOOK_ALIKES)
def test_what_only_looks_like_it_never_shrinks_a_batch(text: str) -> None:
    found = memory_text(text)
    assert found is None or found.memory == "none"
