"""Whether a run keeps its decoded pictures, where they lie, and filling the cache.

The cache holds exactly what the loader decodes, so batches are equal bit for bit with it and without. It lies in the
user's cache folder, one folder for each DATA and way of decoding:

    $XDG_CACHE_HOME/rigwise/pixels/KEY     (~/.cache/rigwise/pixels/KEY)

so that the next run finds it. Pictures are known by the SHA-256 of their files: one that changed is decoded again.
Another picture size, version of a decoder or change of `decode.py` is another KEY. Deleting the folder is always safe.
"""

import os
import shlex
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from hashlib import sha256
from importlib import metadata
from itertools import chain
from math import ceil, sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Literal

import msgspec

from rigwise.errors import BadInput
from rigwise.sources.source import Source
from rigwise.speech import printable, say
from rigwise.train.kept.place import cache_base
from rigwise.train.pictures import decode as decoding
from rigwise.train.pictures.cache.pixel_file import PixelFile, lock
from rigwise.train.pictures.cache.space import read_space, why_no_room
from rigwise.train.pictures.decode import Pixels
from rigwise.train.pictures.loader import enough_pixels
from rigwise.train.pictures.ordered import in_order
from rigwise.train.pictures.picture_bytes import decoded
from rigwise.train.pictures.picture_set import Picture, PictureSet
from rigwise.train.progress import Progress
from rigwise.train.recipe_sections import Recipe
from rigwise.train.sample_ledger import SPLITS
from rigwise.units import memory

FEWEST_READS = 3
"""`auto` keeps pictures that are read at least so often. Our choice: filling costs one reading, so that at three the
cache saves half of the decoding."""

NUM_SAMPLED = 64
"""Pictures decoded to tell how large all will be."""


class PixelCache(msgspec.Struct, frozen=True, kw_only=True):
    """A filled cache."""

    file: PixelFile
    image_size: int
    """The picture size it was decoded for."""

    def pixels(self, picture: Picture) -> Pixels:
        """The pixels of a picture, as the loader decodes it."""
        return self.file.pixels(picture.sha256)


class CacheRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a run wants of the cache."""

    wish: Literal["auto", "on", "off"]
    pictures: PictureSet
    image_size: int
    num_threads: int
    """Decode threads while it is filled."""
    reads: float
    """How often each picture is read in this run, about."""
    base: Path | None = None
    """Where caches lie; None for the user's cache folder."""

    @property
    def folder(self) -> Path:
        """Of this DATA and this way of decoding."""
        return (self.base or default_base()) / _key(self.pictures.root, enough_pixels(self.image_size))


def cache_request(recipe: Recipe, pictures: PictureSet, *, on_gpu: bool) -> CacheRequest:
    """What the guided experiment wants; `auto` is off on the CPU, where a step takes far longer than decoding.

    Three trials on a GPU read pictures: fp32, mixed precision, and the larger batch.
    """
    training, wish = recipe.training, recipe.loader.cache
    drawn = training.steps * (2 * training.batch_size + training.larger_batch_size)
    return CacheRequest(
        wish="off" if wish == "auto" and not on_gpu else wish,
        pictures=pictures,
        image_size=recipe.pictures.image_size if on_gpu else recipe.cpu.image_size,
        num_threads=recipe.loader.num_threads,
        reads=drawn / len(pictures.train),
    )


def default_base() -> Path:
    """Where caches of pictures lie."""
    return cache_base("pixels")


class NoCacheError(Exception):
    """Pictures are not kept decoded; the message is the reason, in words."""


def open_cache(request: CacheRequest, source: Source, progress: Progress) -> PixelCache | None:
    """The filled cache, or None where the run goes on without; what was decided is told.

    Raises:
        BadInput: the cache is `on` and cannot be had.
    """
    if request.wish == "off":
        return None
    try:
        _must_pay(request)
        return _filled(request, source, progress)
    except NoCacheError as error:
        why = str(error)
    except OSError as error:
        why = say("{folder}: {error}", folder=request.folder, error=error.strerror or error)
    if request.wish == "on":
        raise BadInput(
            say("the pictures cannot be kept decoded"),
            why,
            say('set cache = "auto" or "off" under [loader] in the recipe, or make room'),
        )
    progress.tell(say("pictures are decoded anew each time: {why}", why=why))
    return None


def _must_pay(request: CacheRequest) -> None:
    if request.wish == "auto" and request.reads < FEWEST_READS:
        raise NoCacheError(
            say(
                "each is read about {reads} times, and keeping them pays from {fewest} on",
                reads=f"{request.reads:.1f}",
                fewest=FEWEST_READS,
            )
        )


def _filled(request: CacheRequest, source: Source, progress: Progress) -> PixelCache:
    wanted = _wanted(request)
    _must_fit(request, PixelFile(request.folder), wanted, source)
    request.folder.mkdir(parents=True, exist_ok=True)
    with lock(request.folder) as is_ours:
        if not is_ours:
            raise NoCacheError(say("another run is filling {folder}", folder=request.folder))
        file = PixelFile(request.folder)
        _check(file, set(wanted), progress)
        _fill(file, request, wanted, progress)
    progress.tell(_told(file, set(wanted)))
    return PixelCache(file=file, image_size=request.image_size)


def _must_fit(request: CacheRequest, file: PixelFile, wanted: dict[str, Picture], source: Source) -> None:
    there = file.num_bytes(set(wanted))
    needed = there + _estimate(request, [picture for sha, picture in wanted.items() if sha not in file])
    if why := why_no_room(needed, there, read_space(source, request.folder)):
        raise NoCacheError(why)


def _wanted(request: CacheRequest) -> dict[str, Picture]:
    """One picture for each file content of DATA."""
    every = chain.from_iterable(getattr(request.pictures, split) for split in SPLITS)
    return {picture.sha256: picture for picture in every}


def _estimate(request: CacheRequest, pictures: Sequence[Picture]) -> int:
    """Bytes of these pictures decoded: their number times the mean of some, and three standard errors of it."""
    if not pictures:
        return 0
    sample = pictures[:: ceil(len(pictures) / NUM_SAMPLED)]
    sizes = [pixels.nbytes for _, pixels in _decoded(request, sample)]
    error = stdev(sizes) / sqrt(len(sizes)) if 1 < len(sizes) < len(pictures) else 0.0
    return ceil(len(pictures) * (fmean(sizes) + 3 * error))


def _check(file: PixelFile, wanted: set[str], progress: Progress) -> None:
    """Forget what is damaged; forget all when most of it belongs to pictures that are gone."""
    file.forget_stale(wanted)
    progress.begin(say("checking kept pictures"), len(wanted & set(file.entries)))
    try:
        damaged = file.drop_damaged(wanted, progress.advance)
    finally:
        progress.end()
    if damaged:
        progress.tell(say("damaged pictures in the cache, decoded again: {count}", count=damaged))


def _fill(file: PixelFile, request: CacheRequest, wanted: dict[str, Picture], progress: Progress) -> None:
    """Decode what is missing; an interruption keeps what is done."""
    missing = [picture for sha, picture in wanted.items() if sha not in file]
    if not missing:
        return
    progress.begin(say("keeping decoded pictures"), len(missing))
    try:
        with closing(_decoded(request, missing)) as pictures:
            file.add(_counted(pictures, progress))
    finally:
        progress.end()


def _counted(pictures: Iterable[tuple[str, Pixels]], progress: Progress) -> Iterator[tuple[str, Pixels]]:
    for picture in pictures:
        yield picture
        progress.advance()


def _decoded(request: CacheRequest, pictures: Sequence[Picture]) -> Generator[tuple[str, Pixels], None, None]:
    work = partial(_decode, request.pictures.root, enough_pixels(request.image_size))
    return in_order(work, pictures, num_threads=request.num_threads, ahead=4 * max(1, request.num_threads))


def _decode(root: Path, enough: int, picture: Picture) -> tuple[str, Pixels]:
    return picture.sha256, decoded(root, picture, enough, must_be_same=True)


def _told(file: PixelFile, wanted: set[str]) -> str:
    return say(
        "decoded pictures are kept: {size} in {folder}; to remove them: {command}",
        size=memory(file.num_bytes(wanted)),
        folder=file.folder,
        command=f"rm -r {shlex.quote(printable(file.folder))}",
    )


def _key(root: Path, enough: int) -> str:
    """Of DATA and of everything that decides what pixels a picture file becomes."""
    code = Path(decoding.__file__).read_bytes()
    versions = [metadata.version(name) for name in ("simplejpeg", "pillow", "numpy")]
    recipe = msgspec.json.encode([os.path.realpath(root).encode("utf-8", "surrogateescape").hex(), enough, versions])
    return sha256(recipe + code).hexdigest()[:16]
