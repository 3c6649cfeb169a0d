"""The peak of a trial's memory by category, predicted on any machine: its own steps on tensors without memory.

Runs in a child process with a time limit, since it builds the model anew; what fails there is a note, never an end.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd.graph import saved_tensors_hooks

from rigwise.records.knobs import Peak
from rigwise.sources.children import Tell, run_in_child
from rigwise.speech import say
from rigwise.train.batch.breakdown import Answering
from rigwise.train.batch.child import PRELOADED
from rigwise.train.step.device import CpuDevice
from rigwise.train.step.plan import TrialPlan
from rigwise.train.step.state import FreshInputs, TrialInputs, TrialState
from rigwise.train.step.vram_simulation import SimulatedVram
from rigwise.units import duration

NO_LIMIT_BYTES = 2**62
TRACED_STEPS = 2
"""Gradients and optimiser state are there from the second step on."""
LIMIT_SECONDS = 60.0
"""Our choice: a trace takes about a second; a child that is silent for so long is given up."""

IMPORTED_ONCE = (*PRELOADED, "rigwise.train.picture_lab")
"""By the fork server: what a model is built with takes seconds to import too."""


class CategorisedVram(SimulatedVram):
    """Counts live storage, and of the fullest moment what each of it held."""

    def __init__(self) -> None:
        super().__init__(NO_LIMIT_BYTES)
        self.fullest: Peak | None = None
        self._state: TrialState | None = None
        self._saved: set[int] = set()

    def of(self, state: TrialState) -> None:
        """From here on this trial is looked at."""
        self._state = state

    def keep(self, tensor: Tensor) -> Tensor:
        """Autograd keeps this tensor for backward."""
        self._saved.add(tensor.untyped_storage()._cdata)
        return tensor

    def _admit(self, tensors: Any) -> None:
        before = self.peak_allocated_bytes
        super()._admit(tensors)
        if self.peak_allocated_bytes > before and self._state is not None:
            self.fullest = self._by_category(self._state)

    def _release(self, key: int) -> None:
        super()._release(key)
        self._saved.discard(key)

    def _by_category(self, state: TrialState) -> Peak:
        parameters, buffers = list(state.model.parameters()), list(state.model.buffers())
        gradients = [each.grad for each in parameters if each.grad is not None]
        states = [value for held in state.optimizer.state.values() for value in held.values()]
        left = dict(self._size_bytes)

        def taken(keys: set[int]) -> int:
            return sum(left.pop(key) for key in keys & left.keys())

        return Peak(
            parameters_bytes=taken(_keys([*parameters, *buffers])),
            gradients_bytes=taken(_keys(gradients)),
            optimizer_bytes=taken(_keys(each for each in states if isinstance(each, Tensor))),
            activations_bytes=taken(self._saved),
            temporary_bytes=sum(left.values()),
        )


def _keys(tensors: Any) -> set[int]:
    return {tensor.untyped_storage()._cdata for tensor in tensors}


def peak_of(plan: TrialPlan, inputs: TrialInputs) -> Peak:
    """The peak of this trial's steps; `inputs.model` is left without memory.

    Raises:
        Exception: whatever the training raises of tensors without values, such as a shape read from a tensor.
    """
    batch = next(iter(inputs.train_batches(1, 0)))
    vram, mode = CategorisedVram(), FakeTensorMode(allow_non_fake_inputs=True)
    with mode, vram, Answering():  # type: ignore[no-untyped-call]
        _without_memory(inputs.model, mode)
        state = TrialState(_traceable(plan), inputs, CpuDevice())
        vram.of(state)
        vram.track(state.model)
        with saved_tensors_hooks(vram.keep, lambda tensor: tensor):
            for _ in range(TRACED_STEPS):
                state.take_step(batch)
    assert vram.fullest is not None
    copies = 2 if plan.knobs.ema_decay else 1
    return msgspec.structs.replace(vram.fullest, parameters_bytes=copies * vram.fullest.parameters_bytes)


def _traceable(plan: TrialPlan) -> TrialPlan:
    """The plan without what needs values, memory or a compiler: a loss scale (bf16 is as large as fp16), an average."""
    knobs = msgspec.structs.replace(plan.knobs, compile=False, ema_decay=0.0)
    precision = "bf16" if plan.precision == "fp16" else plan.precision
    return msgspec.structs.replace(plan, knobs=knobs, precision=precision)


def _without_memory(model: nn.Module, mode: FakeTensorMode) -> None:
    """Put a tensor without memory in the place of each parameter and buffer; shared ones stay shared."""
    made: dict[int, Tensor] = {}

    def fake(tensor: Tensor) -> Tensor:
        if id(tensor) not in made:
            there = mode.from_tensor(tensor.detach())
            is_parameter = isinstance(tensor, nn.Parameter)
            made[id(tensor)] = nn.Parameter(there, tensor.requires_grad) if is_parameter else there
        return made[id(tensor)]

    for part in model.modules():
        for held in (part._parameters, part._buffers):
            held.update({name: fake(tensor) for name, tensor in held.items() if tensor is not None})  # type: ignore[misc]


class PeakWork(msgspec.Struct, frozen=True, kw_only=True):
    """The traces, as they are sent to their child process."""

    fresh_inputs: FreshInputs
    plans: tuple[TrialPlan, ...]

    def __call__(self, tell: Tell, folder: Path) -> None:
        """Tell the peak of each plan in turn, or why there is none."""
        torch.set_num_threads(1)
        for plan in self.plans:
            tell(self._peak(plan))

    def _peak(self, plan: TrialPlan) -> Peak | str:
        try:
            return peak_of(plan, self.fresh_inputs(plan.batch_size, CpuDevice()))
        except Exception as error:  # the model is foreign code: whatever it raises is a note
            lines = str(error).splitlines() or [""]
            return f"{type(error).__name__}: {lines[0]}"[:200]


def predicted_peaks(fresh_inputs: FreshInputs, plans: Sequence[TrialPlan]) -> list[Peak | str]:
    """For each plan its peak, or why there is none, in words."""
    told: list[Peak | str] = []
    work = PeakWork(fresh_inputs=fresh_inputs, plans=tuple(plans))
    ending = run_in_child(work, silence_seconds=LIMIT_SECONDS, told=told.append, preload=IMPORTED_ONCE)
    if ending.exit_code is None:
        why = say("the trace was given up after {limit}", limit=duration(LIMIT_SECONDS))
    else:
        why = say("the trace ended early (exit code {code})", code=ending.exit_code)
    return [*told, *[why] * (len(plans) - len(told))]
