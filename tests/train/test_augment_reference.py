"""Random views have the distribution of torchvision's RandomResizedCrop and RandomHorizontalFlip."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import transforms

from rigwise.train.pictures.augment import MAX_ASPECT_RATIO, MIN_AREA_RATIO, Box, augmented, random_box

SCALE, RATIO = (MIN_AREA_RATIO, 1.0), (1 / MAX_ASPECT_RATIO, MAX_ASPECT_RATIO)
NUM_BOXES, NUM_VIEWS, SIZE = 4000, 600, 32
LARGEST_DISTANCE = 1.95 * (2 / NUM_BOXES) ** 0.5
"""Two-sample Kolmogorov-Smirnov test at the level 0.001 (Smirnov 1948)."""

QUANTITIES: dict[str, Callable[[Box], float]] = {
    "height": lambda box: box.height,
    "width": lambda box: box.width,
    "top": lambda box: box.top,
    "left": lambda box: box.left,
    "area": lambda box: box.height * box.width,
    "aspect": lambda box: box.width / box.height,
    "middle": lambda box: box.top + box.height / 2 + box.left + box.width / 2,
}
SHAPES = {"landscape": (375, 500), "square": (64, 64), "portrait": (480, 300), "strip": (50, 700), "tiny": (3, 4)}


def distance(left: np.ndarray, right: np.ndarray) -> float:
    """Largest difference of the two empirical distribution functions."""
    values = np.concatenate([left, right])
    shares = [np.searchsorted(np.sort(side), values, side="right") / len(side) for side in (left, right)]
    return float(abs(shares[0] - shares[1]).max())


def reference_boxes(height: int, width: int) -> list[Box]:
    torch.manual_seed(0)
    image = torch.empty((3, height, width), dtype=torch.uint8)
    return [Box(*transforms.RandomResizedCrop.get_params(image, SCALE, RATIO)) for _ in range(NUM_BOXES)]


def our_boxes(height: int, width: int) -> list[Box]:
    return [random_box(height, width, np.random.default_rng((1, 0, number))) for number in range(NUM_BOXES)]


def clamped_box(height: int, width: int, rng: np.random.Generator) -> Box:
    """What many write instead: a box that reaches over the edge is cut, not drawn again."""
    area, aspect = height * width * rng.uniform(*SCALE), np.exp(rng.uniform(*np.log(RATIO)))
    box_height, box_width = min(height, round((area / aspect) ** 0.5)), min(width, round((area * aspect) ** 0.5))
    return Box(0, 0, box_height, box_width)


@pytest.mark.parametrize("shape", SHAPES)
def test_boxes_are_distributed_as_torchvisions(shape: str) -> None:
    ours, reference = our_boxes(*SHAPES[shape]), reference_boxes(*SHAPES[shape])
    for name, quantity in QUANTITIES.items():
        found = distance(np.array([*map(quantity, ours)]), np.array([*map(quantity, reference)]))
        assert found < LARGEST_DISTANCE, f"{name}: distance {found:.3f}"


def test_the_comparison_of_boxes_can_tell_a_cut_box() -> None:
    cut = [clamped_box(375, 500, np.random.default_rng(number)) for number in range(NUM_BOXES)]
    heights = [np.array([box.height for box in boxes]) for boxes in (cut, reference_boxes(375, 500))]
    assert distance(*heights) > LARGEST_DISTANCE


def moments(views: list[torch.Tensor]) -> np.ndarray:
    """Mean and deviation of every channel, contrast between neighbours, and slope from left to right."""
    pixels = torch.stack(views).double()
    left, right = pixels[..., : SIZE // 2].mean(), pixels[..., SIZE // 2 :].mean()
    steps = pixels.diff(dim=-1).abs().mean(), pixels.diff(dim=-2).abs().mean()
    return np.array([*pixels.mean((0, 2, 3)), *pixels.std((0, 2, 3)), *steps, left - right])


def photo() -> np.ndarray:
    """Smooth shapes, fine grain, and a left side darker than the right, so that mirroring shows."""
    rng = np.random.default_rng(3)
    coarse = Image.fromarray(rng.integers(0, 256, (9, 12, 3), dtype=np.uint8)).resize((160, 120))
    grain = rng.normal(0, 12, (120, 160, 1)) + np.linspace(-50, 50, 160)[None, :, None]
    return (np.asarray(coarse) + grain).clip(0, 255).astype(np.uint8)


def test_pixels_have_the_moments_of_torchvisions() -> None:
    """Tolerances of three standard deviations and more: from seed to seed the moments of 600 views scatter by up to
    0.44 grey levels of 255, the slope by 1.35.
    """
    torch.manual_seed(0)
    usual = transforms.Compose(
        [
            transforms.RandomResizedCrop(SIZE, scale=SCALE, ratio=RATIO),
            transforms.RandomHorizontalFlip(),
            transforms.PILToTensor(),
        ]
    )
    pixels = photo()
    reference = moments([usual(Image.fromarray(pixels)) for _ in range(NUM_VIEWS)])
    ours = moments([augmented(pixels, SIZE, np.random.default_rng(number)) for number in range(NUM_VIEWS)])
    assert (abs(ours - reference) < [2] * 8 + [6]).all(), np.round(ours - reference, 2)
    unmirrored = moments([transforms.functional.resize(torch.from_numpy(pixels).permute(2, 0, 1), [SIZE, SIZE])])
    assert abs(unmirrored - reference).max() > 10
