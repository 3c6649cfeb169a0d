"""A GPU that is the CPU with a memory limit, behind the same seam as a real one."""

from contextlib import AbstractContextManager

import torch

from rigwise.train.step.device import DeviceMemory
from rigwise.train.step.vram_simulation import SimulatedVram


class SimulatedGpu:
    """Runs on the CPU; its memory is a `SimulatedVram`."""

    torch_device = torch.device("cpu")
    name = "simulated:0"
    uuid = "GPU-simulated"
    is_gpu = True
    mixed_precision = "bf16"
    no_mixed_precision = ""

    def __init__(self, vram: SimulatedVram) -> None:
        self._vram = vram

    def using(self) -> AbstractContextManager[object]:
        """What runs inside counts."""
        return self._vram

    def synchronize(self) -> None:
        """CPU operators return when they are done."""

    def memory(self) -> DeviceMemory:
        """What the simulation counts; it knows no reserve beyond what is allocated."""
        return DeviceMemory(
            free=self._vram.limit_bytes - self._vram.allocated_bytes,
            total=self._vram.limit_bytes,
            allocated=self._vram.allocated_bytes,
            reserved=self._vram.allocated_bytes,
            peak_allocated=self._vram.peak_allocated_bytes,
            peak_reserved=self._vram.peak_allocated_bytes,
        )

    def reset_peak(self) -> None:
        """Start a new peak."""
        self._vram.reset_peak()

    def start_peak(self) -> None:
        """Start a new peak: there are no cached blocks."""
        self._vram.reset_peak()
