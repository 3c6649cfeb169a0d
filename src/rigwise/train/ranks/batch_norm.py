"""BatchNorm over the rows of all ranks, so that a batch spread over several is normalised as one process does it.

On GPUs that is torch's SyncBatchNorm, which has no CPU form; on CPUs the same sums are exchanged here.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.distributed as dist
from timm.layers.norm_act import convert_sync_batchnorm
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from rigwise.train.ranks.rank import Backend


def over_all_ranks(model: nn.Module, backend: Backend) -> nn.Module:
    """The model with SyncBatchNorm for BatchNorm where the ranks are GPUs; parameters and names stay.

    timm's own conversion: torch's would lose the activation inside timm's `BatchNormAct2d`.
    """
    if backend == "gloo":
        return model
    converted: nn.Module = convert_sync_batchnorm(model)  # type: ignore[no-untyped-call]
    return converted


class BatchNormOverRanks(TorchFunctionMode):
    """While entered, `batch_norm` in training takes mean and variance over all ranks; every rank must call it alike."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Iterable[type], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        named = kwargs or {}
        if func is nn.functional.batch_norm and (named.get("training") or args[5:6] == (True,)):
            return _normalised(*args, **named)
        return func(*args, **named)


class _SumOverRanks(torch.autograd.Function):
    """The sum over all ranks; so is the gradient, for what a rank gives counts in the loss of each."""

    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        total = values.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        total = gradients[0].clone()
        dist.all_reduce(total)
        return total


def _normalised(
    values: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """`torch.nn.functional.batch_norm` in training, of `(B, C, ...)`, with the statistics of all ranks."""
    exact = values.float()
    shape = [1, -1, *[1] * (exact.dim() - 2)]
    others = [place for place in range(exact.dim()) if place != 1]
    # Sums about a point near the mean, the same in every rank, lose no digits, and take one exchange instead of two.
    near = exact.new_zeros(exact.shape[1]) if running_mean is None else running_mean.detach().float().clone()
    shifted = exact - near.view(shape)
    own_count = exact.new_full((1,), exact.numel() / exact.shape[1])
    sums = _SumOverRanks.apply(torch.cat([shifted.sum(others), shifted.square().sum(others), own_count]))
    total, total_of_squares, count = sums.split([len(near), len(near), 1])
    from_near = total / count
    mean, variance = near + from_near, total_of_squares / count - from_near.square()
    with torch.no_grad():
        if running_mean is not None and running_var is not None:
            running_mean.lerp_(mean.to(running_mean.dtype), momentum)
            running_var.lerp_((variance * count / (count - 1)).to(running_var.dtype), momentum)
    normalised = (shifted - from_near.view(shape)) * torch.rsqrt(variance + eps).view(shape)
    if weight is not None:
        normalised = normalised * weight.view(shape)
    if bias is not None:
        normalised = normalised + bias.view(shape)
    result: Tensor = normalised.to(values.dtype)
    return result
