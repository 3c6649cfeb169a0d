"""What submitting a step costs the host, apart from waiting for the device.

Only where calls return before their work is done. The device's queue is empty before each step, so the host never
waits for room in it; where the step itself reads a value back (`item`, `cpu`, `tolist`), that wait is taken off.
"""

import statistics
import time
from collections.abc import Iterable, Mapping
from itertools import cycle, islice
from typing import Any

import msgspec
from torch import Tensor
from torch.overrides import TorchFunctionMode

from rigwise.train.ceilings.loop import Loop
from rigwise.train.ceilings.parts import STEP, SYNCHRONISATION, Partition, watched
from rigwise.train.ceilings.timeline import HostTimeline, Timeline

NUM_STEPS = 9

WAITING_CALLS = {
    Tensor.item,
    Tensor.tolist,
    Tensor.cpu,
    Tensor.numpy,
    Tensor.__bool__,
    Tensor.__float__,
    Tensor.__int__,
    Tensor.nonzero,
}
"""Calls whose result the host needs. https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution"""


class LaunchCost(msgspec.Struct, frozen=True, kw_only=True):
    """Per step, medians."""

    host_seconds: float
    """Of the whole step, waits taken off."""
    step_part_seconds: float
    """The same, without the parts that have a name of their own, such as the optimiser."""
    waits: bool
    """Whether the step waits for the device."""
    busy_seconds: float | None
    """How long the device computes for it; None where that cannot be told."""


class _Waits(TorchFunctionMode):
    """Puts calls that wait for the device into a part of their own."""

    def __init__(self, partition: Partition) -> None:
        super().__init__()
        self._partition = partition

    def __torch_function__(
        self, func: Any, types: Iterable[type], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """The call itself, timed when it waits."""
        if func not in WAITING_CALLS:
            return func(*args, **(kwargs or {}))
        self._partition.begin(SYNCHRONISATION)
        try:
            return func(*args, **(kwargs or {}))
        finally:
            self._partition.end()


def launch_cost(loop: Loop, timeline: Timeline, placed: list[Any]) -> LaunchCost | None:
    """What a step costs the host; None where host and device are one."""
    if not timeline.is_async:
        return None
    batches = list(islice(cycle(placed), NUM_STEPS))
    taken = [_one_launch(loop, timeline, batch) for batch in batches]
    return LaunchCost(
        host_seconds=statistics.median(whole - parts.get(SYNCHRONISATION, 0.0) for whole, parts in taken),
        step_part_seconds=statistics.median(parts.get(STEP, 0.0) for _, parts in taken),
        waits=any(SYNCHRONISATION in parts for _, parts in taken),
        busy_seconds=timeline.busy_seconds(lambda: loop.step(batches[0])),
    )


def _one_launch(loop: Loop, timeline: Timeline, batch: Any) -> tuple[float, dict[str, float]]:
    """Host seconds of one step from an empty queue, and of its parts."""
    partition = Partition(HostTimeline())
    timeline.synchronize()
    began = time.perf_counter()
    with watched(partition), _Waits(partition):
        partition.begin(STEP)
        loop.step(batch)
        partition.end()
    whole = time.perf_counter() - began
    timeline.synchronize()
    return whole, partition.take()
