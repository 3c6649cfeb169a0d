"""One batch, forward and backward, on one device: the smallest proof that training can work there.

Shapes: logits `(B, C)`, one row for each sample of the batch.
"""

import time
from collections.abc import Callable, Sequence

import msgspec
import torch
from torch import Tensor, nn

from rigwise.train.step.chance import without_chance
from rigwise.train.step.device import Device, DeviceMemory

Judge = Callable[[nn.Module, Sequence[Tensor]], tuple[Tensor, Tensor]]
"""Model and a batch, both on one device, to the logits to compare and the loss to go back from."""


class BatchResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one forward and backward pass gave, copied to the CPU."""

    logits: Tensor
    """`(B, C)`, fp32."""
    loss: float
    gradient: Tensor
    """All gradients, flattened to one fp32 vector."""
    parameters_on: tuple[str, ...]
    """Devices that hold parameters and buffers."""
    batch_on: str
    seconds: float
    """The second pass, so that set-up cost is not counted."""
    before: DeviceMemory | None
    during: DeviceMemory | None
    """At the end of the pass, peaks included."""
    after: DeviceMemory | None = None
    """With model and batch gone."""


def run_one_batch(model: nn.Module, judge: Judge, batch: Sequence[Tensor], device: Device) -> BatchResult:
    """Forward and backward of one batch in fp32 on `device`; the model ends on the CPU, its weights unchanged.

    TF32 is off meanwhile: it rounds products to 10 bits and would hide a real difference behind a wide tolerance.
    """
    device.reset_peak()
    before = device.memory()
    model.train()
    with device.using(), exact_products(), without_chance(model):
        result = _measure(model, judge, batch, device, before)
    model.to("cpu")
    device.reset_peak()
    return msgspec.structs.replace(result, after=device.memory())


def _measure(
    model: nn.Module, judge: Judge, batch: Sequence[Tensor], device: Device, before: DeviceMemory | None
) -> BatchResult:
    model.to(device.torch_device)
    on_device = [tensor.to(device.torch_device) for tensor in batch]
    started = 0.0
    for _ in range(2):
        model.zero_grad(set_to_none=True)
        device.synchronize()
        started = time.perf_counter()
        logits, loss = judge(model, on_device)
        loss.backward()
        device.synchronize()
    seconds = time.perf_counter() - started
    gradients = [p.grad.detach().float().flatten().cpu() for p in model.parameters() if p.grad is not None]
    held = [*model.parameters(), *model.buffers()]
    result = BatchResult(
        logits=logits.detach().float().cpu(),
        loss=float(loss.detach()),
        gradient=torch.cat(gradients),
        parameters_on=tuple(sorted({tensor.device.type for tensor in held})),
        batch_on=on_device[0].device.type,
        seconds=seconds,
        before=before,
        during=device.memory(),
    )
    model.zero_grad(set_to_none=True)
    return result


class exact_products:  # noqa: N801 - reads as a statement
    """While inside, fp32 matrix products are computed in fp32."""

    def __enter__(self) -> None:
        self._matmul = torch.backends.cuda.matmul.allow_tf32
        self._cudnn = torch.backends.cudnn.allow_tf32
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False

    def __exit__(self, *exc_info: object) -> None:
        torch.backends.cuda.matmul.allow_tf32 = self._matmul
        torch.backends.cudnn.allow_tf32 = self._cudnn
