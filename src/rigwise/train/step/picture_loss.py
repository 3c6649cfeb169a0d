"""The loss of a batch of pictures.

Shapes: images `(B, 3, H, W)` uint8, labels `(B,)` int64, logits `(B, C)`.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from rigwise.train.step.device import Device
from rigwise.train.step.normalise import Normalise


def mean_loss(
    normalise: Normalise, device: Device, model: nn.Module, batch: Sequence[Tensor], *, label_smoothing: float = 0.0
) -> Tensor:
    """Mean cross-entropy of a batch that is still on the CPU, still on the device; called inside autocast.

    `label_smoothing` is the share of the truth given to all classes alike (Szegedy et al., arXiv:1512.00567, sec. 7).
    """
    images, labels = batch
    logits = model(normalise(images.to(device.torch_device, non_blocking=True)))
    # The loss in fp32: a sum of exponentials overflows fp16 and loses digits in bf16.
    with torch.autocast(device.torch_device.type, enabled=False):
        truth = labels.to(device.torch_device, non_blocking=True)
        return nn.functional.cross_entropy(logits.float(), truth, label_smoothing=label_smoothing)
