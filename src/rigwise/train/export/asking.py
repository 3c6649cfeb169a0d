"""A batch put to a picture classifier, in fewer pieces or more as memory allows."""

from collections.abc import Callable

import torch
from torch import Tensor

from rigwise.train.batch.recognise import out_of_memory
from rigwise.train.step.device import Device
from rigwise.train.step.one_batch import exact_products

Classifier = Callable[[Tensor], Tensor]


def probabilities(classifier: Classifier, images: Tensor, device: Device) -> Tensor:
    """`(N, C)` fp32 on the CPU, of uint8 pictures `(N, 3, S, S)`; the same on every device within fp32 rounding.

    A batch for which the memory does not suffice is taken in halves.

    Raises:
        RuntimeError: not even one picture fits, or something else failed.
    """
    with torch.inference_mode(), device.using(), exact_products():
        pieces = [images]
        answers: list[Tensor] = []
        while pieces:
            piece = pieces.pop()
            try:
                answers.append(classifier(piece.to(device.torch_device)).float().cpu())
            except (RuntimeError, MemoryError) as error:
                if len(piece) == 1 or out_of_memory(error) is None:
                    raise
                pieces += reversed(piece.chunk(2))
        return torch.cat(answers)
