"""Training pictures per CPU-second: rigwise's loader beside the usual ones, on the same files in the same run.

    python benchmarks/loader.py
    pip install webdataset litdata nvidia-dali-cuda120      # into an environment of its own; what is absent is skipped

All read the same JPEG files (500 x 375, quality 90) into batches of 32 at 224 pixels with the same random crop and
flip, one torch thread each. rigwise hands over uint8, which the device normalises; a row of its own adds that work on
the CPU. Rounds are interleaved and the median counts, so that a noisy machine slows all. CPU time is compared, worker
processes included, because loaders share the cores with training.
"""

import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import simplejpeg
import torch
from loader_peers import Settings, dali, fork, litdata_ways, webdataset_ways
from PIL import Image
from torch.utils.data import DataLoader
from torchvision import io as vision_io
from torchvision import transforms
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

from rigwise.sources.live import LiveSource
from rigwise.train.pictures.augment import MIN_AREA_RATIO
from rigwise.train.pictures.cache.choice import CacheRequest, open_cache
from rigwise.train.pictures.folder import read_pictures
from rigwise.train.pictures.loader import PictureStream
from rigwise.train.progress import Silent

NUM_PICTURES, BATCH_SIZE, IMAGE_SIZE, NUM_ROUNDS = 320, 32, 224, 5
MEAN = STD = (0.5, 0.5, 0.5)
BASE = "ImageFolder, PIL, transforms v1"
Way = Callable[[], Iterator[int]]
"""Yields the number of pictures of each batch, once through all of them."""


def make_pictures(root: Path) -> None:
    """Two classes of smooth random pictures with some noise, about 60 KB each, as photographs have."""
    rng = np.random.default_rng(0)
    for number in range(NUM_PICTURES):
        coarse = Image.fromarray(rng.integers(0, 256, (15, 20, 3), dtype=np.uint8)).resize((500, 375))
        noisy = np.asarray(coarse) + rng.normal(0, 6, (375, 500, 1))
        path = root / ("bags" if number % 2 else "shoes") / f"{number}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(noisy.clip(0, 255).astype(np.uint8)).save(path, quality=90)


def image_folder(root: Path, workers: int) -> Iterator[int]:
    """PIL, transforms v1, float32 batches: what most scripts do."""
    steps = [
        transforms.RandomResizedCrop(IMAGE_SIZE, scale=(MIN_AREA_RATIO, 1)),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize(MEAN, STD),
    ]
    folder = ImageFolder(root, transforms.Compose(steps))
    for _, labels in DataLoader(folder, BATCH_SIZE, shuffle=True, num_workers=workers, **fork(workers)):
        yield len(labels)


def vision_v2(root: Path, workers: int) -> Iterator[int]:
    """torchvision.io, transforms v2 on uint8, float32 batches."""
    steps = [
        v2.RandomResizedCrop(IMAGE_SIZE, scale=(MIN_AREA_RATIO, 1), antialias=True),
        v2.RandomHorizontalFlip(),
        v2.ToDtype(torch.float32, scale=True),
        v2.Normalize(MEAN, STD),
    ]
    folder = ImageFolder(
        root, v2.Compose(steps), loader=partial(vision_io.read_image, mode=vision_io.ImageReadMode.RGB)
    )
    for _, labels in DataLoader(folder, BATCH_SIZE, shuffle=True, num_workers=workers, **fork(workers)):
        yield len(labels)


def ours(stream: PictureStream, *, normalised: bool = False) -> Iterator[int]:
    """One pass; `normalised` as the usual loader does, though training does it on the device."""
    mean, std = torch.tensor(MEAN).view(3, 1, 1), torch.tensor(STD).view(3, 1, 1)
    for images, labels in stream.train_batches(NUM_PICTURES // BATCH_SIZE):
        if normalised:
            images.float().div_(255).sub_(mean).div_(std)
        yield len(labels)


def decode_floor(root: Path, _workers: int) -> Iterator[int]:
    """libjpeg-turbo alone: every file decoded in full, nothing else."""
    for path in sorted(root.rglob("*.jpg")):
        simplejpeg.decode_jpeg(path.read_bytes())
        yield 1


def our_ways(root: Path, workers: int) -> dict[str, Way]:
    """The loader of rigwise."""
    pictures = read_pictures(root, seed=0)
    every = [*pictures.train, *pictures.val, *pictures.test]
    cache = open_cache(
        CacheRequest(
            wish="on",
            pictures=pictures,
            image_size=IMAGE_SIZE,
            num_threads=2,
            reads=NUM_ROUNDS,
            base=root.parent / "cache",
        ),
        LiveSource(),
        Silent(),
    )
    if cache is None:
        raise RuntimeError("no cache")
    make = partial(
        PictureStream, every, root, image_size=IMAGE_SIZE, seed=0, batch_size=BATCH_SIZE, num_threads=workers
    )
    return {
        "rigwise": partial(ours, make()),
        "rigwise, normalised on the CPU": partial(ours, make(), normalised=True),
        "rigwise with its cache": partial(ours, make(pixels_of=cache.pixels)),
    }


def all_ways(root: Path, scratch: Path, workers: int) -> dict[str, Way]:
    """Every loader that is installed, by name."""
    settings = Settings(root, scratch, BATCH_SIZE, IMAGE_SIZE, MIN_AREA_RATIO, workers)
    ways: dict[str, Way] = {
        BASE: partial(image_folder, root, workers),
        "torchvision.io, transforms v2": partial(vision_v2, root, workers),
        **our_ways(root, workers),
    }
    for package, make in (("webdataset", webdataset_ways), ("litdata", litdata_ways), ("nvidia.dali", dali)):
        if _is_installed(package):
            ways |= make(settings)
        else:
            print(f"{package}: skipped, not installed", file=sys.stderr)
    if workers == 0:
        ways["decode alone (simplejpeg): the floor"] = partial(decode_floor, root, workers)
    return ways


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def cpu_seconds(way: Way) -> float:
    """CPU time of one pass over all pictures, worker processes included."""
    before = sum(os.times()[:4])
    num_pictures = sum(way())
    if num_pictures != NUM_PICTURES:
        raise RuntimeError(f"{num_pictures} pictures instead of {NUM_PICTURES}")
    return sum(os.times()[:4]) - before


def measure(ways: dict[str, Way]) -> dict[str, float]:
    """Pictures per CPU-second of each way: the median of the interleaved rounds after one that warms up."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(NUM_ROUNDS + 1):
        for name, way in ways.items():
            taken = cpu_seconds(way)
            if number:
                seconds[name].append(taken)
    return {name: NUM_PICTURES / statistics.median(taken) for name, taken in seconds.items()}


def main() -> None:
    """Print a Markdown table for 0 and for 2 workers."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        root, scratch = Path(name) / "pictures", Path(name) / "others"
        make_pictures(root)
        for workers in (0, 2):
            rates = measure(all_ways(root, scratch / str(workers), workers))
            print(
                f"\n| {workers} workers or threads | pictures per CPU-second | ratio to ImageFolder |\n|---|---:|---:|"
            )
            for way, rate in sorted(rates.items(), key=lambda entry: entry[1]):
                print(f"| {way} | {rate:,.0f} | {rate / rates[BASE]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
