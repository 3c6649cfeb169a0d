"""Other people's loaders, set up for loader.py: webdataset, litdata and DALI on the CPU; imported when installed."""

import tarfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import simplejpeg
import torch
from torch.utils.data import DataLoader
from torchvision.transforms import v2


class Settings(NamedTuple):
    """What all loaders are asked for."""

    root: Path
    scratch: Path
    """A folder for what a loader makes of the pictures first."""
    batch_size: int
    image_size: int
    min_area_ratio: float
    workers: int

    def view(self, content: bytes) -> torch.Tensor:
        """By simplejpeg and transforms v2 on uint8: the fastest way these loaders have been seen with."""
        crop = v2.RandomResizedCrop(self.image_size, scale=(self.min_area_ratio, 1), antialias=True)
        pixels = torch.from_numpy(simplejpeg.decode_jpeg(content)).permute(2, 0, 1)
        return v2.functional.horizontal_flip(crop(pixels)) if torch.rand(()) < 0.5 else crop(pixels)

    @property
    def files(self) -> list[Path]:
        """Every picture."""
        return sorted(self.root.rglob("*.jpg"))


def fork(workers: int) -> dict[str, str]:
    """Options that start workers by fork, the default of Linux with Python 3.11: litdata sets spawn for everyone."""
    return {"multiprocessing_context": "fork"} if workers else {}


def webdataset_ways(settings: Settings) -> dict[str, Callable[[], Iterator[int]]]:
    """webdataset: the pictures as two tar files."""
    settings.scratch.mkdir(parents=True, exist_ok=True)
    shards = [settings.scratch / f"{number}.tar" for number in range(2)]
    for number, shard in enumerate(shards):
        with tarfile.open(shard, "w") as archive:
            for path in settings.files[number::2]:
                archive.add(path, path.name)
    return {"webdataset, simplejpeg, v2 uint8": partial(_webdataset, settings, [str(shard) for shard in shards])}


def _webdataset(settings: Settings, shards: list[str]) -> Iterator[int]:
    import webdataset

    data = webdataset.WebDataset(shards, shardshuffle=False, empty_check=False).shuffle(200).to_tuple("jpg")
    data = data.map_tuple(settings.view).batched(settings.batch_size)
    for (images,) in DataLoader(data, batch_size=None, num_workers=settings.workers, **fork(settings.workers)):
        yield len(images)


def litdata_ways(settings: Settings) -> dict[str, Callable[[], Iterator[int]]]:
    """litdata: the pictures in its own chunks."""
    import litdata

    folder = settings.scratch / "litdata"
    litdata.optimize(_read, [str(path) for path in settings.files], str(folder), chunk_bytes="32MB", num_workers=1)

    class Views(litdata.StreamingDataset):  # type: ignore[misc]
        """Decoded and cropped as they are taken."""

        def __getitem__(self, index: Any) -> torch.Tensor:
            return settings.view(super().__getitem__(index))

    def batches() -> Iterator[int]:
        views, workers = Views(str(folder), shuffle=True), settings.workers
        for images in litdata.StreamingDataLoader(
            views, batch_size=settings.batch_size, num_workers=workers, **fork(workers)
        ):
            yield len(images)

    return {"litdata, simplejpeg, v2 uint8": batches}


def _read(path: str) -> bytes:
    return Path(path).read_bytes()


def dali(settings: Settings) -> dict[str, Callable[[], Iterator[int]]]:
    """DALI without a GPU: fused decode of the random crop, resize, mirror and normalise; always in threads."""
    from nvidia.dali import fn, pipeline_def

    @pipeline_def(
        batch_size=settings.batch_size, num_threads=max(1, settings.workers), device_id=None, prefetch_queue_depth=1
    )
    def pipeline() -> Any:
        content, labels = fn.readers.file(file_root=str(settings.root), random_shuffle=True, name="files")
        pixels = fn.decoders.image_random_crop(content, random_area=[settings.min_area_ratio, 1])
        pixels = fn.resize(pixels, size=[settings.image_size, settings.image_size])
        return fn.flip(pixels, horizontal=fn.random.coin_flip()), labels

    pipe = pipeline()
    pipe.build()

    def batches() -> Iterator[int]:
        for _ in range(len(settings.files) // settings.batch_size):
            images, _ = pipe.run()
            yield len(images)

    return {"DALI on the CPU, uint8": batches}
