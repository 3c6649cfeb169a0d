"""A training step that goes on where memory, or fp16, gives out: no sample and no step is lost.

Out of memory: the micro-batch is halved, the gradient of the whole batch is accumulated from micro-batches, and the
batch that failed is taken again, with buffers and random numbers as they were. Not finite: the loss scale is lowered
first; where the loss itself is not finite the layer is named and fp16 gives way to bf16, or to fp32 without that.

What is not recovered: memory that ends in the optimiser's own update, where no batch is too large (`update.py`); a job
of several ranks, whose other ranks wait in the middle of a step, so that all of them must start again
(https://github.com/pytorch/pytorch/issues/18853); and a loss that is not finite in bf16 or fp32. Those are raised.
"""

import gc
import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
import torch
import torch.distributed as dist
from torch import Tensor, nn

from rigwise.speech import say
from rigwise.train.batch.not_finite import first_not_finite
from rigwise.train.batch.parity import Count, Loss, Parity, gradient_parity, num_samples, weighted
from rigwise.train.batch.recognise import OutOfMemory, out_of_memory
from rigwise.train.batch.update import updated
from rigwise.train.step.device import CpuDevice, Device, autocast
from rigwise.train.step.ledger import LossIsNotFinite

LEAST_SCALE = 1.0
"""A loss scale below it makes gradients smaller than they are: fp16 is no help then."""


class RecoveringStep:
    """Takes optimiser steps; `notes` says in words what it had to change."""

    clip_norm: float | None = None
    """Longest gradient; a longer one is shortened to it before the update."""

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        loss: Loss,
        *,
        count: Count = num_samples,
        device: Device | None = None,
        precision: str = "fp32",
        smallest: int = 1,
        watch_loss: bool = True,
        tell: Callable[[str], object] | None = None,
    ) -> None:
        """Steps of this model.

        Args:
            model: in training mode, on the device.
            optimizer: of its parameters.
            loss: model and a batch on the CPU or the device to its mean loss; runs inside autocast.
            count: the terms that mean is over, which weigh a micro-batch: samples, or tokens that have a label.
            device: where the model is; the CPU if not given.
            precision: `fp32`, `bf16` or `fp16`.
            smallest: micro-batch below which nothing is tried; 2 where BatchNorm is used.
            watch_loss: read each loss back to see whether it is finite: one synchronisation a step.
            tell: takes each note as it is made.
        """
        self.model = model
        self.optimizer = optimizer
        self.precision = precision
        self.micro_batch_size: int | None = None
        """None: the whole batch at once."""
        self.parity: Parity | None = None
        """Measured when micro-batches were first needed."""
        self.notes: list[str] = []
        self._loss, self._count = loss, count
        self._device = device or CpuDevice()
        self._smallest, self._watch_loss = smallest, watch_loss
        self._tell = tell
        self._scaler = self._new_scaler()
        self._before = _Before(model, self._device)

    def __call__(self, batch: Sequence[Tensor]) -> Tensor:
        """One optimiser step over the whole batch; its mean loss, detached, on the device.

        Args:
            batch: tensors with one row for each sample.

        Raises:
            torch.OutOfMemoryError: the smallest micro-batch does not fit, or any in a job of several ranks.
            UpdateDoesNotFit: the optimiser's update does not.
            LossIsNotFinite: in bf16 or fp32.
        """
        self._before.take()
        while True:
            loss = self._accumulated(batch)
            is_usable = not self._watch_loss or math.isfinite(loss.item())
            if is_usable and self._update():
                return loss
            self._before.restore()
            if not is_usable or self._scaler is None or self._scaler.get_scale() < LEAST_SCALE:
                self._leave_precision(batch)

    def state_dict(self) -> dict[str, Any]:
        """What it has learned on the way: plain values, for a checkpoint."""
        return {
            "precision": self.precision,
            "micro_batch_size": self.micro_batch_size,
            "parity": None if self.parity is None else msgspec.to_builtins(self.parity),
            "notes": list(self.notes),
            "scaler": None if self._scaler is None else self._scaler.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on with that: precision, micro-batches and loss scale."""
        self.precision = state["precision"]
        self.micro_batch_size = state["micro_batch_size"]
        self.parity = None if state["parity"] is None else msgspec.convert(state["parity"], Parity)
        self.notes = list(state["notes"])
        self._scaler = self._new_scaler()
        if self._scaler is not None:
            self._scaler.load_state_dict(state["scaler"])

    def _accumulated(self, batch: Sequence[Tensor]) -> Tensor:
        """The mean loss, with the gradient of the whole batch in the parameters."""
        while True:
            self.optimizer.zero_grad(set_to_none=True)
            outcome = self._attempt(batch)
            if isinstance(outcome, Tensor):
                return outcome
            # The exception, and with it every frame that held activations, is gone by now.
            self.optimizer.zero_grad(set_to_none=True)
            self._before.restore()
            gc.collect()
            self._device.reset_peak()
            self._halve(batch, outcome)

    def _attempt(self, batch: Sequence[Tensor]) -> Tensor | OutOfMemory:
        """The mean loss of the micro-batches, or that memory ran out."""
        try:
            return self._backward(batch)
        except Exception as error:
            memory = self._device.memory()
            known = {"free_bytes": memory.free, "total_bytes": memory.total} if memory else {}
            ran_out = out_of_memory(error, **known)
            if ran_out is None or _several_ranks() or self._micro(batch) // 2 < self._smallest:
                raise
            return ran_out

    def _backward(self, batch: Sequence[Tensor]) -> Tensor:
        if self.micro_batch_size is None or self._micro(batch) == (size := len(batch[0])):
            return self._backward_part(batch, 1.0)
        num_parts = -(-size // self._micro(batch))
        parts = list(zip(*(tensor.tensor_split(num_parts) for tensor in batch), strict=True))
        losses = [self._backward_part(part, share) for part, share in weighted(parts, self._count)]
        return torch.stack(losses).sum()

    def _backward_part(self, part: Sequence[Tensor], share: float) -> Tensor:
        """Its share of the mean loss, detached; its gradient is added to the parameters."""
        with autocast(self._device, self.precision):
            loss = self._loss(self.model, part)
        if share != 1:
            loss = loss * share
        (loss if self._scaler is None else self._scaler.scale(loss)).backward()
        return loss.detach()

    def _micro(self, batch: Sequence[Tensor]) -> int:
        return min(self.micro_batch_size or len(batch[0]), len(batch[0]))

    def _halve(self, batch: Sequence[Tensor], ran_out: OutOfMemory) -> None:
        size, micro = len(batch[0]), self._micro(batch)
        self.micro_batch_size = micro // 2
        self._note(
            say(
                "out of memory with {micro} samples at once; micro-batches of {smaller} from now on, the batch stays "
                "{batch}: {said}",
                micro=micro,
                smaller=self.micro_batch_size,
                batch=size,
                said=ran_out.text.split(". ")[0],
            )
        )
        if self.parity is None:
            self.parity = self._measured_parity(batch)

    def _measured_parity(self, batch: Sequence[Tensor]) -> Parity | None:
        """None where even the few samples it takes do not fit; the next micro-batch is smaller."""
        try:
            parity = gradient_parity(self.model, self._loss, batch, self._count)
        except Exception as error:
            if out_of_memory(error) is None:
                raise
            return None
        self._note(parity.text)
        return parity

    def _update(self) -> bool:
        """Whether the optimiser took its step; where the gradient overflows it does not, and the scale is halved."""
        self._clip()
        if self._scaler is None:
            updated(self.optimizer, self.optimizer.step)
            return True
        scale = self._scaler.get_scale()
        updated(self.optimizer, partial(self._scaler.step, self.optimizer))
        self._scaler.update()
        if self._scaler.get_scale() >= scale:
            return True
        self._note(say("the gradient overflowed fp16: loss scale lowered to {scale}", scale=self._scaler.get_scale()))
        return False

    def _clip(self) -> None:
        """Shorten a gradient that is too long, once the loss scale is out of it."""
        if self.clip_norm is None:
            return
        if self._scaler is not None:
            self._scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.clip_norm)

    def _leave_precision(self, batch: Sequence[Tensor]) -> None:
        """Name the layer; from fp16 to a type with the range of fp32, else give up."""
        where = self._where_not_finite(batch)
        if self.precision != "fp16":
            raise LossIsNotFinite(
                say("the loss is not finite in {precision}: {where}", precision=self.precision, where=where)
            )
        self.precision = self._device.mixed_precision if self._device.mixed_precision != "fp16" else "fp32"
        self._scaler = self._new_scaler()
        self._note(
            say("the loss overflowed fp16: {where}; {precision} from now on", where=where, precision=self.precision)
        )

    def _where_not_finite(self, batch: Sequence[Tensor]) -> str:
        """The layer that turns finite numbers of this batch into others, in words."""
        part = [tensor[: self._micro(batch)] for tensor in batch]
        with autocast(self._device, self.precision):
            return first_not_finite(self.model, lambda: self._loss(self.model, part))

    def _new_scaler(self) -> torch.amp.GradScaler | None:
        """A loss scale, for fp16 alone."""
        return torch.amp.GradScaler(self._device.torch_device.type) if self.precision == "fp16" else None

    def _note(self, sentence: str) -> None:
        self.notes.append(sentence)
        if self._tell is not None:
            self._tell(sentence)


class _Before:
    """What a step that fails midway must give back: running statistics and random numbers."""

    def __init__(self, model: nn.Module, device: Device) -> None:
        by_type: dict[torch.dtype, list[Tensor]] = defaultdict(list)
        for buffer in model.buffers():
            by_type[buffer.dtype].append(buffer)
        self._buffers = [(buffers, [buffer.clone() for buffer in buffers]) for buffers in by_type.values()]
        self._gpu = device.torch_device if device.torch_device.type == "cuda" else None

    def take(self) -> None:
        """Remember them: one copy for all buffers of a type, since a model has a hundred of them."""
        for buffers, kept in self._buffers:
            torch._foreach_copy_(kept, buffers)
        self._chance = torch.get_rng_state()
        self._chance_of_gpu = torch.cuda.get_rng_state(self._gpu) if self._gpu else None

    def restore(self) -> None:
        """Put them back."""
        for buffers, kept in self._buffers:
            torch._foreach_copy_(buffers, kept)
        torch.set_rng_state(self._chance)
        if self._gpu is not None and self._chance_of_gpu is not None:
            torch.cuda.set_rng_state(self._chance_of_gpu, self._gpu)


def _several_ranks() -> bool:
    return dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1
