"""What a network trained on other pictures sees in each one: the embedded EfficientNet-Lite0, frozen. Imports torch."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from rigwise.train.audit.look import Look, Progress
from rigwise.train.network.model import build_model
from rigwise.train.network.weights import LITE0
from rigwise.train.pictures.loader import PictureStream
from rigwise.train.pictures.picture_set import Picture
from rigwise.train.step.device import CpuDevice, first_gpu
from rigwise.train.step.normalise import Normalise

BATCH_SIZE = 32
IMAGE_SIZE = 224
"""Pixels, as the weights were trained with."""


@torch.inference_mode()
def frozen_features(
    root: Path, looks: Sequence[Look], *, image_size: int = IMAGE_SIZE, progress: Progress | None = None
) -> npt.NDArray[np.float32]:
    """`(N, 1280)`: the pooled features of each picture, in order, on the GPU where there is one.

    Raises:
        BadInput: a picture is no longer what it was.
        CannotTell: the weights are not installed.
    """
    device = first_gpu() or CpuDevice()
    built = build_model(LITE0, num_classes=0)
    model, normalise = built.model.eval().to(device.torch_device), Normalise(built.mean, built.std)
    pictures = [Picture(path=look.path, label=0, sha256=look.sha256, inside=look.inside) for look in looks]
    stream = PictureStream(pictures, root, image_size=image_size, seed=0, batch_size=BATCH_SIZE)
    found: list[npt.NDArray[np.float32]] = []
    with device.using(), closing(stream.eval_batches()) as batches:
        for images, _ in batches:
            found.append(model(normalise(images.to(device.torch_device))).float().cpu().numpy())
            if progress:
                progress(sum(map(len, found)), len(looks))
    del model, built
    device.reset_peak()  # what is measured afterwards is not to see this network
    return np.concatenate(found)
