"""From decoded pixels to what the model sees: a box of the picture, resampled to a square, uint8.

The random box and the mirroring have the distribution of torchvision's RandomResizedCrop and RandomHorizontalFlip.
Normalisation is left to the device, so that a batch crosses to it in a quarter of the bytes.

`H` height, `W` width, `S` image size, in pixels.
"""

from math import exp, log, sqrt
from typing import NamedTuple

import numpy as np
import torch
from torch.nn.functional import interpolate

from rigwise.train.pictures.decode import Pixels

MIN_AREA_RATIO = 0.35
"""Smallest part of a picture a crop shows. torchvision's 0.08 is for ImageNet's million pictures; on small sets of
products it often shows a bare background under the product's label."""

MAX_ASPECT_RATIO = 4 / 3
"""Longest side to shortest of a crop, before it is squared; torchvision's and timm's default."""

NUM_DRAWS = 10
"""How often a box that would reach over the edge is drawn again, as torchvision does."""


class Box(NamedTuple):
    """A part of a picture, in pixels."""

    top: int
    left: int
    height: int
    width: int


def random_box(height: int, width: int, rng: np.random.Generator) -> Box:
    """A box of random area, shape and place, distributed as `torchvision.transforms.RandomResizedCrop.get_params`."""
    for _ in range(NUM_DRAWS):
        area = height * width * rng.uniform(MIN_AREA_RATIO, 1)
        aspect = exp(rng.uniform(-log(MAX_ASPECT_RATIO), log(MAX_ASPECT_RATIO)))
        box_height, box_width = round(sqrt(area / aspect)), round(sqrt(area * aspect))
        if 0 < box_height <= height and 0 < box_width <= width:
            top = int(rng.integers(height - box_height, endpoint=True))
            left = int(rng.integers(width - box_width, endpoint=True))
            return Box(top, left, box_height, box_width)
    return widest_centre_box(height, width)


def widest_centre_box(height: int, width: int) -> Box:
    """The largest box in the middle of an allowed shape: what a long strip of a picture is cropped to.

    >>> widest_centre_box(100, 1000), widest_centre_box(30, 30)
    (Box(top=0, left=433, height=100, width=133), Box(top=0, left=0, height=30, width=30))
    """
    box_height = min(height, max(1, round(width * MAX_ASPECT_RATIO)))
    box_width = min(width, max(1, round(height * MAX_ASPECT_RATIO)))
    return Box((height - box_height) // 2, (width - box_width) // 2, box_height, box_width)


def centre_box(height: int, width: int) -> Box:
    """The largest square in the middle: what validation sees.

    >>> centre_box(375, 500)
    Box(top=0, left=62, height=375, width=375)
    """
    side = min(height, width)
    return Box((height - side) // 2, (width - side) // 2, side, side)


def centre_view(pixels: Pixels, size: int) -> torch.Tensor:
    """What validation and every later use of the model see of a picture, uint8 `(3, S, S)`."""
    return resample(pixels, centre_box(*pixels.shape[:2]), size)


def resample(pixels: Pixels, box: Box, size: int) -> torch.Tensor:
    """The box of `pixels` `(H, W, 3)` as uint8 `(3, S, S)`, bilinear with antialiasing."""
    part = pixels[box.top : box.top + box.height, box.left : box.left + box.width]
    image = torch.from_numpy(part).permute(2, 0, 1)[None]
    return interpolate(image, size=(size, size), mode="bilinear", antialias=True)[0]


def augmented(pixels: Pixels, size: int, rng: np.random.Generator) -> torch.Tensor:
    """A random view for training, uint8 `(3, S, S)`: random box, mirrored half of the time."""
    height, width, _ = pixels.shape
    view = resample(pixels, random_box(height, width, rng), size)
    return view.flip(-1) if rng.random() < 0.5 else view
