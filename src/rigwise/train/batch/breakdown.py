"""Where the bytes of a training step go, and the batch size they predict: traced with tensors that hold no memory.

The caller's own training runs two steps under `FakeTensorMode` in a child process; every tensor has a shape and a type,
none has bytes, so that it fits on any machine. A lower bound: the CUDA context, cuDNN's work space and the allocator's
rounding are not in it.
"""

from pathlib import Path
from typing import Any

import msgspec
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from rigwise.records.batch import Breakdown
from rigwise.sources.children import Tell, run_in_child
from rigwise.train.batch.child import PRELOADED, Build, MakeDevice
from rigwise.train.batch.memory import memory_now
from rigwise.train.headroom import LARGEST_SHARE
from rigwise.train.step.vram_simulation import SimulatedVram

NO_LIMIT_BYTES = 2**62
TRACED_STEPS = 2
"""Gradients and optimiser state are there from the second step on."""
SMALL_BATCH, LARGE_BATCH = 8, 32
"""Our choice: two sizes give a line. In much smaller ones the optimiser's temporary tensors hide the activations."""


class TraceWork(msgspec.Struct, frozen=True, kw_only=True):
    """One trace at each of these sizes, as it is sent to its child process."""

    build: Build
    batch_sizes: tuple[int, ...]
    make_device: MakeDevice

    def __call__(self, tell: Tell, folder: Path) -> None:
        """Tell the free bytes of the device (None: not known), then the breakdown of each size."""
        now = memory_now(self.make_device())
        tell(now.free if now else None)
        for batch_size in self.batch_sizes:
            tell(traced(self.build, batch_size))


def traced(build: Build, batch_size: int) -> Breakdown:
    """The bytes of a step, traced in this process.

    Raises:
        Exception: whatever the training raises of tensors without values, such as `.item()`.
    """
    vram = SimulatedVram(NO_LIMIT_BYTES)
    with FakeTensorMode(allow_non_fake_inputs=True), vram:
        training: Any = build(batch_size)
        vram.track(training.model)
        for step in range(TRACED_STEPS):
            training.train_step(step)
        parameters = [*training.model.parameters()]
        states = [value for state in training.optimizer.state.values() for value in state.values()]
        fixed = Breakdown(
            batch_size=batch_size,
            parameters_bytes=_bytes([*parameters, *training.model.buffers()]),
            gradients_bytes=_bytes([each for each in parameters if each.requires_grad]),
            optimizer_bytes=_bytes([value for value in states if isinstance(value, torch.Tensor)]),
            activations_bytes=0,
        )
    rest = max(0, vram.peak_allocated_bytes - fixed.peak_bytes)
    return msgspec.structs.replace(fixed, activations_bytes=rest)


def _bytes(tensors: list[Tensor]) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """What the traces say; each part None where it could not be traced."""

    batch_size: int | None = None
    small: Breakdown | None = None
    large: Breakdown | None = None

    def at(self, batch_size: int) -> Breakdown | None:
        """The breakdown at another size, on the line through the two traces."""
        if self.small is None:
            return None
        per_sample, fixed = self._line()
        activations = round(fixed + per_sample * batch_size)
        return msgspec.structs.replace(self.small, batch_size=batch_size, activations_bytes=max(0, activations))

    def _line(self) -> tuple[float, float]:
        """Bytes of activations for each sample, and without any."""
        assert self.small is not None
        large = self.large or self.small
        apart = large.batch_size - self.small.batch_size
        slope = (large.activations_bytes - self.small.activations_bytes) / apart if apart else 0.0
        return slope, self.small.activations_bytes - slope * self.small.batch_size


def predict(build: Build, make_device: MakeDevice, *, smallest: int, most: int, silence_seconds: float) -> Prediction:
    """The batch size whose traced peak fills the headroom, from traces in a child process."""
    small = min(max(SMALL_BATCH, smallest), most)
    sizes = tuple(sorted({small, min(LARGE_BATCH * small // SMALL_BATCH, most)}))
    told: list[Any] = []
    work = TraceWork(build=build, batch_sizes=sizes, make_device=make_device)
    run_in_child(work, silence_seconds=silence_seconds, told=told.append, preload=PRELOADED)
    free, breakdowns = (told[0] if told else None), told[1:]
    if not breakdowns:
        return Prediction()
    traces = Prediction(small=breakdowns[0], large=breakdowns[-1])
    return msgspec.structs.replace(traces, batch_size=_filling(traces, free))


def _filling(traces: Prediction, free_bytes: int | None) -> int | None:
    """None where memory does not grow with the batch: a flat line predicts any size."""
    per_sample, fixed = traces._line()
    if free_bytes is None or per_sample <= 0 or traces.small is None:
        return None
    states = traces.small.peak_bytes - traces.small.activations_bytes
    return max(1, int((LARGEST_SHARE * free_bytes - states - fixed) / per_sample))
