"""uint8 pictures to what a network expects, on the device the pictures are on."""

from collections.abc import Sequence

import torch
from torch import Tensor


class Normalise:
    """Maps uint8 0..255 `(B, 3, H, W)` to fp32 `(x / 255 - mean) / std` per channel."""

    def __init__(self, mean: Sequence[float], std: Sequence[float]) -> None:
        self.mean = torch.tensor(mean).view(1, 3, 1, 1) * 255
        self.scale = 1 / (torch.tensor(std).view(1, 3, 1, 1) * 255)

    def __call__(self, images: Tensor) -> Tensor:
        """Normalised pictures, fp32, on the same device as `images`."""
        self.mean = self.mean.to(images.device)
        self.scale = self.scale.to(images.device)
        return (images.float() - self.mean) * self.scale
