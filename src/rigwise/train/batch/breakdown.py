"""Where the bytes of a training step go, and the batch size they predict: traced with tensors that hold no memory.

The caller's own training is built as it is, in a child process; then its tensors are exchanged for fake ones
(`FakeTensorMode`), and it runs two steps: every tensor has a shape and a type, none has bytes, so that any batch fits.
A lower bound: the CUDA context, cuDNN's work space and the allocator's rounding are not in it.

Built for real, since building asks for values (`.item()`, pretrained weights) and moves the model, which a fake one
cannot (`Module.to` on fake parameters raises in torch 2.14: "Couldn't swap"). Where the weights alone do not fit the
device, a fake build is tried.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_map_only

from rigwise.records.batch import Breakdown
from rigwise.sources.children import Tell, run_in_child
from rigwise.train.batch.child import PRELOADED, Build, MakeDevice
from rigwise.train.batch.memory import memory_now
from rigwise.train.batch.recognise import out_of_memory
from rigwise.train.batch.training import Batch, TorchTraining
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
        Exception: whatever the training raises of tensors without values, such as a shape read from a tensor.
    """
    vram, fake = SimulatedVram(NO_LIMIT_BYTES), FakeTensorMode(allow_non_fake_inputs=True)
    training: Any = _built(build, batch_size, fake)
    with fake, vram, Answering():  # type: ignore[no-untyped-call]
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


def _built(build: Build, batch_size: int, fake: FakeTensorMode) -> Any:
    """The training, with a model whose tensors are fake."""
    try:
        training: Any = build(batch_size)
    except Exception as error:
        if out_of_memory(error) is None:
            raise
        with fake:
            return build(batch_size)
    _exchange(training, fake)
    if isinstance(training, TorchTraining):
        training.train_batch = _outside(training.train_batch)
    return training


def _exchange(training: Any, fake: FakeTensorMode) -> None:
    """Exchange the tensors of the model for fake ones, in the optimiser too."""
    faked: dict[Tensor, Tensor] = {}
    with torch.no_grad():
        for layer in training.model.modules():
            for held in (layer._parameters, layer._buffers):
                for name, tensor in held.items():
                    if tensor is not None:
                        held[name] = faked.setdefault(tensor, fake.from_tensor(tensor))
    for group in training.optimizer.param_groups:
        group["params"] = [faked.get(parameter, parameter) for parameter in group["params"]]
    state = training.optimizer.state
    for parameter in [each for each in state if each in faked]:
        state[faked[parameter]] = tree_map_only(Tensor, partial(_faked_state, fake), state.pop(parameter))


def _faked_state(fake: FakeTensorMode, tensor: Tensor) -> Tensor:
    """A fake tensor; a count of steps keeps its value, since optimisers divide by what they make of it."""
    is_count = tensor.dim() == 0 and tensor.device.type == "cpu"
    return fake.fake_tensor_converter.from_real_tensor(fake, tensor, make_constant=is_count)


class Answering(TorchDispatchMode):
    """Answers a step that asks for a value (`loss.item()`, `isfinite(...)`): nothing is lost, everything is well.

    Whole numbers are not answered: they may be shapes, and a wrong shape is a wrong number of bytes.
    """

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        try:
            return func(*args, **(kwargs or {}))
        except DataDependentOutputException:
            kind = args[0].dtype
            if kind != torch.bool and not kind.is_floating_point:
                raise
            return kind == torch.bool or 0.0


def _outside(train_batch: Callable[[int], Batch]) -> Callable[[int], Batch]:
    """Batches of real tensors: threads that fill one know no fake tensors."""

    def batch(step: int) -> Batch:
        with _disable_current_modes():
            return train_batch(step)

    return batch


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
