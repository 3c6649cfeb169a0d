"""A picture with the background of another one, where the background can be told from the subject.

A smooth surface of colour is laid through the border; what is near it and reaches the border is background. So this
works for plain, lit and softly textured backgrounds, as in product pictures; where it does not, the picture is passed
over, not guessed at. Shadows and grain stay where they are: only the surface is exchanged.

`S` side in pixels.
"""

from collections.abc import Iterator

import msgspec
import numpy as np
import numpy.typing as npt
from scipy import ndimage

from rigwise.train.audit.light import lab
from rigwise.train.audit.look import border_mask
from rigwise.train.pictures.decode import Pixels

Floats = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]

MAX_DISTANCE = 14.0
"""CIE76 distance from the surface. Our choice: grain and JPEG reach 10 in drawn pictures, a soft shadow 14."""
MIN_BORDER_RATIO = 0.7
"""Share of the border that must be background; a subject may reach over the rest. Our choice."""
SUBJECT_RATIO = (0.03, 0.85)
"""Share of the picture that the subject may take; outside of it nothing, or everything, was taken for it."""
NUM_FITS = 3
"""Each fit leaves out what the last one was far from: the subject where it reaches the border."""
EDGE_PX = 1.0
"""Softness of the edge between subject and new background, so that no cut-out line is the new cue."""


class Background(msgspec.Struct, frozen=True):
    """What can be exchanged of one picture."""

    surface: Floats
    """`(S, S, 3)`, sRGB 0 to 255: the colour of the background, without its texture."""
    weight: Floats
    """`(S, S, 1)`: 1 background, 0 subject."""


def background_of(picture: Pixels) -> Background | None:
    """The background of a square picture `(S, S, 3)`; None where it cannot be told from the subject."""
    side = picture.shape[0]
    border, colours = border_mask(side), lab(picture)
    near = border
    for _ in range(NUM_FITS):
        surface = _surface(picture, near)
        distance = np.linalg.norm(colours - lab(np.rint(surface).astype(np.uint8)), axis=-1)
        near = border & (distance <= max(MAX_DISTANCE, float(np.median(distance[border]))))
    close = distance <= MAX_DISTANCE
    background = ndimage.binary_propagation(close & border, mask=ndimage.binary_opening(close) | (close & border))
    subject = ~ndimage.binary_closing(np.pad(background, 1, mode="edge"))[1:-1, 1:-1]
    if (background & border).sum() < MIN_BORDER_RATIO * border.sum():
        return None
    if not SUBJECT_RATIO[0] <= subject.mean() <= SUBJECT_RATIO[1]:
        return None
    soft = ndimage.gaussian_filter((~subject).astype(np.float32), EDGE_PX, mode="nearest")
    return Background(surface, soft[..., None])


def with_background(picture: Pixels, own: Background, other: Background) -> Pixels:
    """The picture with the other's colours behind its subject."""
    moved = picture + own.weight * (other.surface - own.surface)
    return np.rint(np.clip(moved, 0, 255)).astype(np.uint8)


def _surface(picture: Pixels, where: Mask) -> Floats:
    """The quadratic surface `(S, S, 3)` nearest to the pixels named, by least squares."""
    steps = np.linspace(-1, 1, picture.shape[0], dtype=np.float32)
    x, y = np.meshgrid(steps, steps)
    terms = np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=-1)
    weights, *_ = np.linalg.lstsq(terms[where], picture[where].astype(np.float32), rcond=None)
    surface: Floats = np.clip(terms @ weights, 0, 255).astype(np.float32)
    return surface


def donors(labels: npt.NDArray[np.int64], *, same_class: bool, seed: int) -> Iterator[int]:
    """For each picture the place of one to take the background from, never itself where there is another.

    With `same_class` False, first another class is drawn, then one of its pictures, so that all count alike.
    """
    rng = np.random.default_rng(seed)
    classes = np.unique(labels)
    for place, label in enumerate(labels):
        wanted = label if same_class else rng.choice(classes[classes != label])
        candidates = np.nonzero(labels == wanted)[0]
        others = candidates[candidates != place]
        yield int(rng.choice(others if len(others) else candidates))
