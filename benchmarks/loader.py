"""Pictures per CPU-second: rigwise's loader against torchvision's ImageFolder with its usual transforms.

    python benchmarks/loader.py

Both read the same JPEG files (500 x 375, quality 90) into batches of 32 at 224 pixels, with the same crop and flip, one
torch thread each. Rounds alternate and the median counts, so that a noisy machine slows both. CPU time is compared,
because the loaders share the cores with training.
"""

import os
import statistics
import tempfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.datasets import ImageFolder

from rigwise.train.pictures.augment import MIN_AREA_RATIO
from rigwise.train.pictures.folder import read_pictures
from rigwise.train.pictures.loader import PictureStream

NUM_PICTURES, BATCH_SIZE, IMAGE_SIZE, NUM_ROUNDS = 320, 32, 224, 5
MEAN = STD = (0.5, 0.5, 0.5)


def make_pictures(root: Path) -> None:
    """Two classes of smooth random pictures with some noise, about 50 KB each, as photographs have."""
    rng = np.random.default_rng(0)
    for number in range(NUM_PICTURES):
        coarse = Image.fromarray(rng.integers(0, 256, (15, 20, 3), dtype=np.uint8)).resize((500, 375))
        noisy = np.asarray(coarse) + rng.normal(0, 6, (375, 500, 1))
        path = root / ("bags" if number % 2 else "shoes") / f"{number}.jpg"
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(noisy.clip(0, 255).astype(np.uint8)).save(path, quality=90)


def usual(root: Path, num_workers: int) -> Iterable[tuple[torch.Tensor, torch.Tensor]]:
    """ImageFolder, PIL, transforms v1, float32 batches."""
    steps = [
        transforms.RandomResizedCrop(IMAGE_SIZE, scale=(MIN_AREA_RATIO, 1)),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize(MEAN, STD),
    ]
    return DataLoader(ImageFolder(root, transforms.Compose(steps)), BATCH_SIZE, shuffle=True, num_workers=num_workers)


def ours(stream: PictureStream) -> Iterable[tuple[torch.Tensor, torch.Tensor]]:
    """As many batches as the usual loader gives, normalised as it does, though training does that on the device."""
    mean, std = torch.tensor(MEAN).view(3, 1, 1), torch.tensor(STD).view(3, 1, 1)
    for images, labels in stream.train_batches(NUM_PICTURES // BATCH_SIZE):
        yield images.float().div_(255).sub_(mean).div_(std), labels


def cpu_seconds(batches: Callable[[], Iterable[tuple[torch.Tensor, torch.Tensor]]]) -> float:
    """CPU time of one pass over all pictures, worker processes included."""
    before = sum(os.times()[:4])
    num_pictures = sum(len(labels) for _, labels in batches())
    if num_pictures != NUM_PICTURES:
        raise RuntimeError(f"{num_pictures} pictures instead of {NUM_PICTURES}")
    return sum(os.times()[:4]) - before


def main() -> None:
    """Print pictures per CPU-second of each, and the ratios."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        make_pictures(root)
        pictures = read_pictures(root, seed=0)
        every = [*pictures.train, *pictures.val, *pictures.test]
        for workers in (0, 2):
            stream = PictureStream(
                every, root, image_size=IMAGE_SIZE, seed=0, batch_size=BATCH_SIZE, num_threads=workers
            )
            rounds = [
                (cpu_seconds(partial(usual, root, workers)), cpu_seconds(partial(ours, stream)))
                for _ in range(NUM_ROUNDS)
            ]
            usual_rate, our_rate = (NUM_PICTURES / statistics.median(times) for times in zip(*rounds, strict=True))
            print(
                f"{workers} workers: ImageFolder {usual_rate:.0f}, rigwise {our_rate:.0f} pictures per CPU-second,"
                f" ratio {our_rate / usual_rate:.2f}"
            )


if __name__ == "__main__":
    main()
