"""The exponential average of the weights, which is steadier than the weights themselves."""

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel


class WeightAverage(AveragedModel):
    """PyTorch's averaged model, buffers included, with a decay that warms up: early weights are soon forgotten.

    The decay after n updates is at most (1 + n) / (10 + n), as TensorFlow's ExponentialMovingAverage has it.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        super().__init__(model, use_buffers=True)
        self.requires_grad_(False)
        self._decay = decay

    @torch.no_grad()
    def update_parameters(self, model: nn.Module) -> None:
        """Take in the weights after a step; does not wait for the device."""
        count = int(self.n_averaged)  # lies on the CPU
        new_share = 1.0 if count == 0 else 1 - min(self._decay, (1 + count) / (10 + count))
        pairs = list(zip(_held(self.module), _held(model), strict=True))
        averaged, current = map(list, zip(*(pair for pair in pairs if pair[0].is_floating_point()), strict=True))
        torch._foreach_lerp_(averaged, current, new_share)
        for counter, now in pairs:
            if not counter.is_floating_point():
                counter.copy_(now)
        self.n_averaged += 1


def _held(model: nn.Module) -> list[torch.Tensor]:
    return [*model.parameters(), *model.buffers()]
