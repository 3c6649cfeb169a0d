"""Times each step without stopping the device.

On the CPU a step ends when its last operator returns, so the host clock is right. On a GPU the host runs ahead:
an event is recorded at each step's end and read a few steps later, which costs no synchronisation.
"""

import time
from collections import deque
from typing import Protocol

import torch

from rigwise.train.step.device import Device


class StepClock(Protocol):
    """Marks step ends; gives durations in seconds, in order, as they become known."""

    def start(self) -> None:
        """The first step begins now; also after a pause such as validation."""

    def end_step(self) -> None:
        """A step ended now."""

    def ready(self, *, wait: bool = False) -> list[float]:
        """Durations of steps not handed out yet; with `wait`, of all ended steps."""


class HostClock:
    """For devices whose operators return when they are done."""

    def __init__(self) -> None:
        self._last = time.perf_counter()
        self._durations: list[float] = []

    def start(self) -> None:
        """Begin timing here."""
        self._last = time.perf_counter()

    def end_step(self) -> None:
        """Note the time since the last mark."""
        now = time.perf_counter()
        self._durations.append(now - self._last)
        self._last = now

    def ready(self, *, wait: bool = False) -> list[float]:
        """All durations noted so far."""
        taken, self._durations = self._durations, []
        return taken


class CudaClock:
    """Events on the current CUDA stream; a duration is known once its event has passed."""

    def __init__(self) -> None:
        self._last = self._mark()
        self._pending: deque[tuple[torch.cuda.Event, torch.cuda.Event]] = deque()

    @staticmethod
    def _mark() -> torch.cuda.Event:
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def start(self) -> None:
        """Begin timing here."""
        self._last = self._mark()

    def end_step(self) -> None:
        """Record the end of a step on the stream."""
        now = self._mark()
        self._pending.append((self._last, now))
        self._last = now

    def ready(self, *, wait: bool = False) -> list[float]:
        """Durations of the steps whose events have passed."""
        durations = []
        while self._pending and (wait or self._pending[0][1].query()):
            began, ended = self._pending.popleft()
            ended.synchronize()
            durations.append(began.elapsed_time(ended) / 1000)
        return durations


def step_clock(device: Device) -> StepClock:
    """The clock that is right for this device."""
    return CudaClock() if device.torch_device.type == "cuda" else HostClock()
