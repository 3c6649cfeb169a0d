"""The device a trial runs on, and what can be asked of its memory.

`Device` is the seam between the training loop and the hardware: the CPU, a CUDA GPU, or (in tests) a simulated GPU
that runs on the CPU with a memory limit. Bytes everywhere.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

import msgspec
import torch
from torch import nn

from rigwise.train.step.half_precision import half_precision, why_not_half

PRECISIONS = {"fp32": None, "bf16": torch.bfloat16, "fp16": torch.float16}


class DeviceMemory(msgspec.Struct, frozen=True, kw_only=True):
    """Memory of a device at one moment and its peaks since `reset_peak`, in bytes."""

    free: int
    total: int
    allocated: int
    reserved: int = 0
    """Taken from the driver by PyTorch's allocator; what exceeds `allocated` is cached, or lies in pieces."""
    peak_allocated: int
    peak_reserved: int


class Device(Protocol):
    """Where a trial runs."""

    @property
    def torch_device(self) -> torch.device:
        """Where tensors live."""

    @property
    def name(self) -> str:
        """For people: `cpu`, `cuda:0`."""

    @property
    def uuid(self) -> str:
        """As NVML names it, `GPU-...`; "" for the CPU."""

    @property
    def is_gpu(self) -> bool:
        """Whether it has memory of its own."""

    @property
    def mixed_precision(self) -> str:
        """`bf16`, or `fp16` where bf16 has no hardware; `fp32` where neither can be relied on."""

    @property
    def no_mixed_precision(self) -> str:
        """Why neither can, in words; "" where one can."""

    def using(self) -> AbstractContextManager[object]:
        """While entered, work of this thread belongs to this device."""

    def synchronize(self) -> None:
        """Wait until everything submitted has run."""

    def memory(self) -> DeviceMemory | None:
        """Its memory now; None for the CPU."""

    def reset_peak(self) -> None:
        """Start a new measurement of the peaks, with cached blocks returned first."""

    def start_peak(self) -> None:
        """Start a new measurement of the peaks; cached blocks stay where they are, as in a run."""


def autocast(device: Device, precision: str) -> AbstractContextManager[object]:
    """The context a forward pass runs in at this precision."""
    dtype = PRECISIONS[precision]
    return nullcontext() if dtype is None else torch.autocast(device.torch_device.type, dtype)


class CpuDevice:
    """The CPU: the reference every GPU result is compared with."""

    torch_device = torch.device("cpu")
    name = "cpu"
    uuid = ""
    is_gpu = False
    mixed_precision = "bf16"
    no_mixed_precision = ""

    def using(self) -> AbstractContextManager[object]:
        """Nothing to enter."""
        return nullcontext()

    def synchronize(self) -> None:
        """Nothing to wait for: CPU operators return when they are done."""

    def memory(self) -> DeviceMemory | None:
        """None: the CPU has no memory of its own to measure here."""
        return None

    def reset_peak(self) -> None:
        """Nothing to reset."""

    def start_peak(self) -> None:
        """Nothing to measure."""


class CudaDevice:
    """One CUDA GPU as PyTorch sees it."""

    is_gpu = True

    def __init__(self, index: int = 0) -> None:
        self.torch_device = torch.device("cuda", index)
        self.name = f"cuda:{index}"
        self.uuid = f"GPU-{torch.cuda.get_device_properties(self.torch_device).uuid}"
        card = torch.cuda.get_device_name(self.torch_device), torch.cuda.get_device_capability(self.torch_device)
        self.mixed_precision, self.no_mixed_precision = half_precision(*card), why_not_half(*card)

    def using(self) -> AbstractContextManager[object]:
        """Makes it PyTorch's current GPU, which streams and events belong to."""
        return torch.cuda.device(self.torch_device)

    def synchronize(self) -> None:
        """Wait until every kernel has run."""
        torch.cuda.synchronize(self.torch_device)

    def memory(self) -> DeviceMemory | None:
        """Free and total as the driver sees them (other processes counted), own peaks from PyTorch's allocator."""
        free, total = torch.cuda.mem_get_info(self.torch_device)
        return DeviceMemory(
            free=free,
            total=total,
            allocated=torch.cuda.memory_allocated(self.torch_device),
            reserved=torch.cuda.memory_reserved(self.torch_device),
            peak_allocated=torch.cuda.max_memory_allocated(self.torch_device),
            peak_reserved=torch.cuda.max_memory_reserved(self.torch_device),
        )

    def reset_peak(self) -> None:
        """Return cached blocks to the driver and start new peaks."""
        torch.cuda.empty_cache()
        self.start_peak()

    def start_peak(self) -> None:
        """Start new peaks."""
        torch.cuda.reset_peak_memory_stats(self.torch_device)


def placed(model: nn.Module, device: Device) -> nn.Module:
    """The model on the device; as it is where it lies there already: parameters without memory cannot be moved."""
    held = [*model.parameters(), *model.buffers()]
    return model if all(tensor.device == device.torch_device for tensor in held) else model.to(device.torch_device)


def first_gpu() -> CudaDevice | None:
    """The GPU PyTorch would use, or None when it sees none."""
    return CudaDevice(0) if torch.cuda.is_available() and torch.cuda.device_count() else None
