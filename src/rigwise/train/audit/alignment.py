"""How equal two pictures are once one is laid over the other: a search for the crop of one that shows the other.

The crop is found by Gauss-Newton on its four edges (B. D. Lucas and T. Kanade, "An iterative image registration
technique with an application to stereo vision", IJCAI 1981), for many pairs at once. Pure numpy.

`P` pairs, `S` side of the thumbnails in pixels. A crop is (top, left, bottom, right) as shares of the picture, 0 to 1.
"""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

MARGIN_SHARE = 0.05
"""Left out of the comparison on each side: frames, and what a crop found a pixel too large shows."""
MIN_SPREAD = 4.0
"""Grey levels of standard deviation below which a picture shows nothing that could be recognised. Our choice."""
NUM_BLOCKS = 8
"""Blocks along each side in which differences are looked for one by one: a small change is large in its block."""


def aligned(first: Floats, second: Floats, crops: Floats, num_iterations: int) -> Floats:
    """The crops `(P, 4)` of each first picture `(P, S, S, 3)` that look most like the second, from a first guess."""
    wanted = _flat(_standardised(second))
    for _ in range(num_iterations):
        seen, by_row, by_column = _seen_through(first, crops)
        steps = np.linspace(0, 1, seen.shape[1], dtype=np.float32)
        down, across = steps[None, :, None, None], steps[None, None, :, None]
        slopes = [by_row * (1 - down), by_column * (1 - across), by_row * down, by_column * across]
        spread = np.maximum(seen.std(axis=(1, 2, 3)), MIN_SPREAD)[:, None]
        jacobian = np.stack([_flat(slope - slope.mean(axis=(1, 2, 3), keepdims=True)) for slope in slopes], axis=-1)
        residual = (wanted - _flat(_standardised(seen))) * spread
        normal = np.einsum("pni,pnj->pij", jacobian, jacobian)
        normal += np.eye(4, dtype=np.float32) * (1e-4 * np.trace(normal, axis1=1, axis2=2)[:, None, None] + 1e-3)
        change = np.linalg.solve(normal, np.einsum("pni,pn->pi", jacobian, residual)[..., None])[..., 0]
        crops = _within(crops + np.clip(change, -0.05, 0.05))
    return crops


def likeness(first: Floats, second: Floats, crops: Floats) -> tuple[Floats, Floats]:
    """Correlation of each pair over all pixels and colours, -1 to 1, and the largest difference of a block.

    Compared at half the size, which hides how each was resampled and encoded. Light and contrast may differ between
    the two. The difference is in units of the picture's standard deviation.
    """
    seen, _, _ = _seen_through(first, crops)
    seen, second = halved(seen), halved(second)
    inner = round(seen.shape[1] * MARGIN_SHARE)
    cut = slice(inner, seen.shape[1] - inner)
    one, other = _standardised(seen[:, cut, cut]), _standardised(second[:, cut, cut])
    difference = np.abs(one - other).mean(axis=3)
    side = difference.shape[1] // NUM_BLOCKS
    blocks = difference[:, : side * NUM_BLOCKS, : side * NUM_BLOCKS]
    blocks = blocks.reshape(len(blocks), NUM_BLOCKS, side, NUM_BLOCKS, side).mean(axis=(2, 4))
    correlation: Floats = (one * other).mean(axis=(1, 2, 3))
    return correlation, blocks.max(axis=(1, 2))


def halved(pictures: Floats) -> Floats:
    """The pictures `(P, S, S, 3)` at half their side, averaged."""
    num, side = len(pictures), pictures.shape[1] // 2
    smaller: Floats = pictures.reshape(num, side, 2, side, 2, 3).mean(axis=(2, 4))
    return smaller


def _seen_through(pictures: Floats, crops: Floats) -> tuple[Floats, Floats, Floats]:
    """Each crop sampled to the full side, bilinear, and its slopes down and across per share of the picture."""
    side = pictures.shape[1]
    steps = (np.arange(side, dtype=np.float32) + 0.5) / side
    rows = np.clip((crops[:, :1] * (1 - steps) + crops[:, 2:3] * steps) * side - 0.5, 0, side - 1.001)
    columns = np.clip((crops[:, 1:2] * (1 - steps) + crops[:, 3:4] * steps) * side - 0.5, 0, side - 1.001)
    upper, left = rows.astype(int), columns.astype(int)
    down, across = (rows - upper)[:, :, None, None], (columns - left)[:, None, :, None]
    pair = np.arange(len(pictures))[:, None, None]
    corner = [[pictures[pair, (upper + i)[:, :, None], (left + j)[:, None, :]] for j in (0, 1)] for i in (0, 1)]
    top = corner[0][0] * (1 - across) + corner[0][1] * across
    bottom = corner[1][0] * (1 - across) + corner[1][1] * across
    by_column = (corner[0][1] - corner[0][0]) * (1 - down) + (corner[1][1] - corner[1][0]) * down
    return top * (1 - down) + bottom * down, (bottom - top) * side, by_column * side


def _within(crops: Floats) -> Floats:
    """The edges kept inside the picture, at least half of it apart."""
    first = np.clip(crops[:, :2], 0, 0.5)
    return np.concatenate([first, np.clip(crops[:, 2:], first + 0.5, 1)], axis=1)


def _standardised(pictures: Floats) -> Floats:
    """Mean 0 and standard deviation 1 over all pixels and colours of each; a picture of one colour stays near 0."""
    mean = pictures.mean(axis=(1, 2, 3), keepdims=True)
    standardised: Floats = (pictures - mean) / np.maximum(pictures.std(axis=(1, 2, 3), keepdims=True), MIN_SPREAD)
    return standardised


def _flat(pictures: Floats) -> Floats:
    return pictures.reshape(len(pictures), -1)
