"""A GPU's memory limit on a machine without a GPU, so that batch search and recovery can be tried on real steps.

Inside `simulate_vram` every tensor an operation of this thread reads or writes counts as VRAM for as long as its
storage lives: parameters, activations kept for backward, gradients, optimiser state. It does not know what only a GPU
has (the CUDA context, cuDNN workspaces, the caching allocator's fragmentation), so a GPU needs somewhat more.
"""

import weakref
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, UntypedStorage, nn
from torch.utils._python_dispatch import TorchDispatchMode

from rigwise.units import GIB, MIB

BLOCK_BYTES = 512
"""Sizes are rounded up to this, as PyTorch's CUDA allocator does (kMinBlockSize in c10/cuda/CUDACachingAllocator.h)."""


def simulate_vram(limit_bytes: int) -> "SimulatedVram":
    """A context in which tensors may hold at most `limit_bytes`; more raises `torch.OutOfMemoryError`."""
    return SimulatedVram(limit_bytes)


class SimulatedVram(TorchDispatchMode):
    """Counts the live tensor storage of what runs inside, in bytes."""

    def __init__(self, limit_bytes: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.limit_bytes = limit_bytes
        self.allocated_bytes = 0
        """Of all storages alive now."""
        self.peak_allocated_bytes = 0
        """The most since the beginning, or since `reset_peak`."""
        self._size_bytes: dict[int, int] = {}

    def track(self, model: nn.Module) -> None:
        """Count parameters and buffers now, as if moved to the GPU; otherwise each counts from its first use on."""
        self._admit([*model.parameters(), *model.buffers()])

    def reset_peak(self) -> None:
        """Start a new measurement of the peak."""
        self.peak_allocated_bytes = self.allocated_bytes

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self._admit(_tensors_in((args, tuple((kwargs or {}).values()), result)))
        return result

    def _admit(self, tensors: Iterable[Tensor]) -> None:
        """Count what these tensors hold and is not counted yet; a view holds nothing of its own.

        Raises:
            torch.OutOfMemoryError: it is more than what is free; none of it is counted then.
        """
        storages = _storages(tensors)
        grown_bytes = sum(map(self._uncounted, storages))
        if grown_bytes > self.limit_bytes - self.allocated_bytes:
            raise torch.OutOfMemoryError(self._message(grown_bytes))
        for storage in storages:
            self._count(storage)
        self.peak_allocated_bytes = max(self.peak_allocated_bytes, self.allocated_bytes)

    def _uncounted(self, storage: UntypedStorage) -> int:
        """Bytes a storage has grown by since it was counted: all of them when it is new."""
        return _rounded(storage.nbytes()) - self._size_bytes.get(storage._cdata, 0)

    def _count(self, storage: UntypedStorage) -> None:
        self.allocated_bytes += self._uncounted(storage)
        if storage._cdata not in self._size_bytes:
            weakref.finalize(storage, self._release, storage._cdata).atexit = False
        self._size_bytes[storage._cdata] = _rounded(storage.nbytes())

    def _release(self, key: int) -> None:
        self.allocated_bytes -= self._size_bytes.pop(key)

    def _message(self, tried_bytes: int) -> str:
        """PyTorch's own words (c10/cuda/CUDACachingAllocator.cpp), so that whoever reads a real one reads this one."""
        allocated = _size(self.allocated_bytes)
        return (
            f"CUDA out of memory. Tried to allocate {_size(tried_bytes)}. GPU 0 has a total capacity of "
            f"{_size(self.limit_bytes)} of which {_size(self.limit_bytes - self.allocated_bytes)} is free. "
            f"Including non-PyTorch memory, this process has {allocated} memory in use. "
            f"Of the allocated memory {allocated} is allocated by PyTorch, and {_size(0)} is reserved by PyTorch "
            "but unallocated. (simulated by rigwise)"
        )


def _tensors_in(value: Any) -> Iterator[Tensor]:
    """Tensors alone and in lists: what operators take and give is nested no other way."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _tensors_in(each)


def _storages(tensors: Iterable[Tensor]) -> Collection[UntypedStorage]:
    """Each storage behind these tensors once; sparse tensors have none of their own."""
    dense = (tensor.untyped_storage() for tensor in tensors if tensor.layout is torch.strided)
    return {storage._cdata: storage for storage in dense}.values()


def _rounded(num_bytes: int) -> int:
    return -(-num_bytes // BLOCK_BYTES) * BLOCK_BYTES


def _size(num_bytes: int) -> str:
    """Bytes as PyTorch's allocator words them.

    >>> _size(512), _size(20 * MIB), _size(24 * GIB)
    ('512 bytes', '20.00 MiB', '24.00 GiB')
    """
    if num_bytes <= 1024:
        return f"{num_bytes} bytes"
    if num_bytes <= MIB:
        return f"{num_bytes / 1024:.2f} KiB"
    return f"{num_bytes / MIB:.2f} MiB" if num_bytes <= GIB else f"{num_bytes / GIB:.2f} GiB"
