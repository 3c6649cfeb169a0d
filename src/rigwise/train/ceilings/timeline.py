"""When the device reached a point of the work submitted to it.

A host clock alone is wrong on a GPU: calls return before the work is done, and rates come out 30 to 60 times too high.
`Timeline` is the seam between the measurement and the hardware, as `Device` is between training and hardware.
"""

import time
from collections.abc import Callable, Iterable
from typing import Any, Protocol, Self

import torch
from torch.profiler import ProfilerActivity, profile


class Mark(Protocol):
    """A point of the work submitted so far."""

    def seconds_since(self, earlier: Self) -> float:
        """From `earlier` to here, as the device passed them; both must have been passed."""


class Timeline(Protocol):
    """The order of work on one device."""

    @property
    def is_async(self) -> bool:
        """Whether calls return before their work is done."""

    def mark(self) -> Mark:
        """A point after everything submitted so far; does not wait."""

    def synchronize(self) -> None:
        """Wait until everything submitted has run."""

    def busy_seconds(self, work: Callable[[], object]) -> float | None:
        """How long the device computed for `work`, run to its end; None where that cannot be told."""


class HostMark(float):
    """Seconds of the host's clock."""

    def seconds_since(self, earlier: Self) -> float:
        """From `earlier` to here."""
        return self - earlier


class HostTimeline:
    """For devices whose calls return when they are done."""

    is_async = False

    def mark(self) -> HostMark:
        """Now."""
        return HostMark(time.perf_counter())

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def busy_seconds(self, work: Callable[[], object]) -> float | None:
        """None: host and device are one."""
        return None


class CudaMark:
    """An event recorded on the current stream."""

    def __init__(self) -> None:
        self._event = torch.cuda.Event(enable_timing=True)
        self._event.record()

    def seconds_since(self, earlier: Self) -> float:
        """Between the two events; waits for this one."""
        self._event.synchronize()
        return float(earlier._event.elapsed_time(self._event)) / 1000


class CudaTimeline:
    """The current stream of one CUDA GPU."""

    is_async = True

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def mark(self) -> CudaMark:
        """An event at the end of the stream."""
        with torch.cuda.device(self._device):
            return CudaMark()

    def synchronize(self) -> None:
        """Wait for every stream of the GPU."""
        torch.cuda.synchronize(self._device)

    def busy_seconds(self, work: Callable[[], object]) -> float | None:
        """Time covered by kernels and copies, as the profiler saw them; None where it saw none (no CUPTI)."""
        self.synchronize()
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
            work()
            self.synchronize()
        return covered_seconds(_device_ranges(profiler.events() or ())) or None


def _device_ranges(events: Iterable[Any]) -> list[tuple[float, float]]:
    """Start and end of everything that ran on the GPU, microseconds; annotations span gaps and are left out."""
    return [
        (event.time_range.start, event.time_range.end)
        for event in events
        if event.device_type.name == "CUDA" and not getattr(event, "is_user_annotation", False)
    ]


def covered_seconds(ranges_microseconds: Iterable[tuple[float, float]]) -> float:
    """The length of the union of the ranges, in seconds; what overlaps counts once.

    >>> covered_seconds([(0, 10), (5, 20), (30, 40)])
    3e-05
    """
    covered, reached = 0.0, float("-inf")
    for start, end in sorted(ranges_microseconds):
        covered += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return covered / 1e6


def timeline_of(device: torch.device) -> Timeline:
    """The timeline that is right for a device."""
    return CudaTimeline(device) if device.type == "cuda" else HostTimeline()
