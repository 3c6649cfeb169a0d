"""Decoded pictures kept on disk: the same batches, whole after any end, and only where they fit."""

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch
from train import bad_pictures as odd

from rigwise.errors import BadInput
from rigwise.sources.live import LiveSource
from rigwise.train.machine import available_ram_bytes
from rigwise.train.pictures.cache.choice import CacheRequest, PixelCache, cache_request, open_cache
from rigwise.train.pictures.cache.pixel_file import PixelFile, lock
from rigwise.train.pictures.cache.space import DISK_LEFT_BYTES, Space, why_no_room
from rigwise.train.pictures.folder import read_pictures
from rigwise.train.pictures.loader import Batch, PictureStream
from rigwise.train.progress import Silent
from rigwise.train.recipe import parse_recipe
from rigwise.train.recipe_sections import Recipe
from rigwise.units import GIB, MIB

IMAGE_SIZE = 32


class Told(Silent):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.sentences: list[str] = []
        self.begun: list[str] = []

    def begin(self, label: str, total: int | None) -> None:
        self.begun.append(f"{label} {total}")

    def tell(self, sentence: str) -> None:
        self.sentences.append(sentence)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for number in range(12):
        content = odd.encoded(odd.photo(number, 60 + number, 80 - number), "JPEG" if number % 2 else "PNG")
        odd.write(tmp_path / "pictures" / ("bags" if number % 3 else "shoes") / str(number), content)
    return tmp_path / "pictures"


@pytest.fixture
def request_for(root: Path) -> Callable[..., CacheRequest]:
    def make(**changes: object) -> CacheRequest:
        request = CacheRequest(
            wish="on",
            pictures=read_pictures(root, seed=0),
            image_size=IMAGE_SIZE,
            num_threads=2,
            reads=9,
            base=root.parent / "caches",
        )
        return msgspec.structs.replace(request, **changes)

    return make


def opened(request: CacheRequest, told: Told | None = None) -> PixelCache:
    cache = open_cache(request, LiveSource(), told or Told())
    assert cache is not None
    return cache


def stream(request: CacheRequest, cache: PixelCache | None, num_threads: int) -> PictureStream:
    return PictureStream(
        request.pictures.train,
        request.pictures.root,
        image_size=IMAGE_SIZE,
        seed=5,
        batch_size=5,
        num_threads=num_threads,
        pixels_of=cache.pixels if cache else None,
    )


def same(left: list[Batch], right: list[Batch]) -> bool:
    pairs = [(*one, *other) for one, other in zip(left, right, strict=True)]
    return all(torch.equal(a, c) and torch.equal(b, d) for a, b, c, d in pairs)


@pytest.mark.parametrize("num_threads", [0, 3])
def test_batches_are_equal_bit_for_bit_with_a_cache_and_without(
    request_for: Callable[..., CacheRequest], num_threads: int
) -> None:
    request = request_for()
    with_cache, without = stream(request, opened(request), num_threads), stream(request, None, 0)
    assert same(list(with_cache.train_batches(7)), list(without.train_batches(7)))
    assert same(list(with_cache.train_batches(3, start_step=4)), list(without.train_batches(7))[4:])
    assert same(list(with_cache.eval_batches()), list(without.eval_batches()))


def test_the_second_run_decodes_nothing(request_for: Callable[..., CacheRequest], root: Path) -> None:
    first, second = Told(), Told()
    opened(request_for(), first)
    opened(request_for(), second)
    assert first.begun == ["checking kept pictures 0", "keeping decoded pictures 12"]
    assert second.begun == ["checking kept pictures 12"]
    assert str(root.parent / "caches") in second.sentences[0]
    assert "rm -r " in second.sentences[0]


def test_a_changed_picture_is_decoded_again_and_only_that(request_for: Callable[..., CacheRequest], root: Path) -> None:
    opened(request_for())
    odd.write(root / "bags" / "1", odd.encoded(odd.photo(99, 70, 70), "PNG"))
    told, request = Told(), request_for()
    cache = opened(request, told)
    assert told.begun == ["checking kept pictures 11", "keeping decoded pictures 1"]
    assert same(list(stream(request, cache, 0).train_batches(5)), list(stream(request, None, 0).train_batches(5)))


def test_another_picture_size_is_another_cache(request_for: Callable[..., CacheRequest]) -> None:
    assert request_for().folder != request_for(image_size=2 * IMAGE_SIZE).folder


def test_another_data_folder_is_another_cache(request_for: Callable[..., CacheRequest], root: Path) -> None:
    shutil.copytree(root, root.parent / "copy")
    assert request_for().folder != request_for(pictures=read_pictures(root.parent / "copy", seed=0)).folder


def test_a_cache_of_other_pictures_mostly_is_filled_anew(request_for: Callable[..., CacheRequest], root: Path) -> None:
    before = opened(request_for())
    kept = {picture.sha256: before.pixels(picture).copy() for picture in request_for().pictures.train}
    for number in range(12):
        odd.write(root / ("bags" if number % 3 else "shoes") / str(number), odd.encoded(odd.photo(40 + number), "PNG"))
    now = opened(request_for())
    assert len(now.file.entries) == 12
    for sha256, pixels in kept.items():  # an earlier run that still has it open reads on
        assert (before.file.pixels(sha256) == pixels).all()


def damage_pixel(folder: Path) -> None:
    content = bytearray((folder / "pixels.bin").read_bytes())
    content[1000] ^= 1
    (folder / "pixels.bin").write_bytes(content)


def cut_pixels(folder: Path) -> None:
    os.truncate(folder / "pixels.bin", (folder / "pixels.bin").stat().st_size - 1)


def cut_index(folder: Path) -> None:
    os.truncate(folder / "index.tsv", (folder / "index.tsv").stat().st_size - 3)


def damage_index(folder: Path) -> None:
    text = (folder / "index.tsv").read_text()
    (folder / "index.tsv").write_text(text.replace("\t0\t", "\t3\t", 1))


def without_pixels(folder: Path) -> None:
    (folder / "pixels.bin").unlink()


def without_index(folder: Path) -> None:
    (folder / "index.tsv").unlink()


@pytest.mark.parametrize(
    "damage",
    [damage_pixel, cut_pixels, cut_index, damage_index, without_pixels, without_index],
    ids=lambda f: f.__name__,
)
def test_whatever_is_damaged_is_decoded_again(
    request_for: Callable[..., CacheRequest], damage: Callable[[Path], None]
) -> None:
    request = request_for()
    opened(request)
    damage(request.folder)
    told = Told()
    cache = opened(request, told)
    assert told.begun[-1].startswith("keeping decoded pictures ")
    assert same(list(stream(request, cache, 0).train_batches(5)), list(stream(request, None, 0).train_batches(5)))
    again = Told()
    opened(request, again)
    assert again.begun == ["checking kept pictures 12"]


ADD = """
import sys
from pathlib import Path
import numpy as np
from rigwise.train.pictures.cache.pixel_file import PixelFile, lock

def decoded():
    for number in range(200):
        print(number, flush=True)
        yield f"{number:064x}", np.full((1000, 1000, 3), number, np.uint8)

folder = Path(sys.argv[1])
with lock(folder):
    PixelFile(folder).add(decoded())
"""


def test_killed_at_any_moment_it_holds_nothing_wrong_and_goes_on(tmp_path: Path) -> None:
    rng = random.Random(0)
    for _ in range(3):
        child = subprocess.Popen([sys.executable, "-c", ADD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        for _ in range(rng.randrange(20, 90)):
            assert child.stdout.readline()
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        found = PixelFile(tmp_path)
        assert found.drop_damaged(set(found.entries), lambda: None) == 0
        for sha256 in found.entries:
            assert (found.pixels(sha256) == int(sha256, 16)).all()
    with lock(tmp_path) as is_ours:
        assert is_ours
        found = PixelFile(tmp_path)
        found.add(iter([("ff" * 32, np.full((10, 20, 3), 7, np.uint8))]))
    assert (PixelFile(tmp_path).pixels("ff" * 32) == 7).all()
    assert len(PixelFile(tmp_path).entries) > 1


def test_another_run_that_fills_it_is_not_disturbed(request_for: Callable[..., CacheRequest]) -> None:
    request = request_for()
    request.folder.mkdir(parents=True)
    with lock(request.folder) as is_ours:
        assert is_ours
        with pytest.raises(BadInput) as raised:
            opened(request)
        assert "another run" in raised.value.why
        told = Told()
        assert open_cache(msgspec.structs.replace(request, wish="auto"), LiveSource(), told) is None
        assert "another run" in told.sentences[0]
    opened(request)


def test_a_full_disk_leaves_a_run_without_cache_and_a_sound_one_behind(
    request_for: Callable[..., CacheRequest],
) -> None:
    request, told = request_for(wish="auto"), Told()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, hard))  # the kernel refuses to write more: EFBIG
    try:
        assert open_cache(request, LiveSource(), told) is None
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "File too large" in told.sentences[0]
    assert not odd.picture_threads()
    opened(request)


def test_a_picture_that_changed_since_it_was_read_is_refused(
    request_for: Callable[..., CacheRequest], root: Path
) -> None:
    request = request_for()
    odd.write(root / "bags" / "1", odd.encoded(odd.photo(99), "PNG"))
    with pytest.raises(BadInput, match="cannot use the picture bags/1"):
        opened(request)


def test_off_makes_nothing_and_says_nothing(request_for: Callable[..., CacheRequest]) -> None:
    told = Told()
    assert open_cache(request_for(wish="off"), LiveSource(), told) is None
    assert told.sentences == []
    assert not request_for().folder.exists()


def test_auto_does_not_keep_what_is_read_twice(request_for: Callable[..., CacheRequest]) -> None:
    told = Told()
    assert open_cache(request_for(wish="auto", reads=2), LiveSource(), told) is None
    assert "read about 2.0 times" in told.sentences[0]


@pytest.fixture
def machine(tmp_path: Path) -> Callable[..., LiveSource]:
    """Machines with so much RAM, in a control group with such a limit."""

    def make(available_bytes: int, limit_bytes: int | None = None, used_bytes: int = 0) -> LiveSource:
        odd.write(tmp_path / "proc/meminfo", f"MemAvailable: {available_bytes // 1024} kB\n".encode())
        odd.write(tmp_path / "proc/self/cgroup", b"0::/job\n")
        odd.write(tmp_path / "sys/fs/cgroup/job/memory.max", str(limit_bytes or "max").encode())
        odd.write(tmp_path / "sys/fs/cgroup/job/memory.current", str(used_bytes).encode())
        return LiveSource(tmp_path)

    return make


def test_ram_is_what_machine_and_control_group_leave(machine: Callable[..., LiveSource]) -> None:
    assert available_ram_bytes(machine(8 * GIB)) == 8 * GIB
    assert available_ram_bytes(machine(8 * GIB, 4 * GIB, GIB)) == 3 * GIB
    assert available_ram_bytes(machine(2 * GIB, 4 * GIB, GIB)) == 2 * GIB


@pytest.mark.parametrize("limit", [None, 100 * 1024])
def test_too_little_ram_is_refused_with_the_numbers(
    request_for: Callable[..., CacheRequest], machine: Callable[..., LiveSource], limit: int | None
) -> None:
    source = machine(8 * GIB, limit) if limit else machine(100 * 1024)
    with pytest.raises(BadInput) as raised:
        open_cache(request_for(), source, Told())
    assert "0.167 MiB of page cache, over 50.0 % of the 0.0977 MiB of RAM" in raised.value.why
    assert not request_for().folder.exists()


def test_too_little_disk_is_refused_with_the_numbers() -> None:
    space = Space(disk_bytes=DISK_LEFT_BYTES + 10 * MIB, ram_bytes=100 * GIB)
    assert why_no_room(10 * MIB, 0, space) is None
    assert why_no_room(30 * MIB, 20 * MIB, space) is None
    told = why_no_room(11 * MIB, 0, space)
    assert told is not None
    assert "11.0 MiB of disk, and 10.0 MiB of 2.01 GiB free" in told


def test_unknown_ram_is_no_room() -> None:
    assert why_no_room(1, 0, Space(disk_bytes=100 * GIB, ram_bytes=None)) is not None


def test_the_recipe_decides(request_for: Callable[..., CacheRequest]) -> None:
    pictures = request_for().pictures
    recipe = parse_recipe('[loader]\ncache = "on"\n', "test")
    assert cache_request(recipe, pictures, on_gpu=True).wish == "on"
    drawn = 200 * (32 + 32 + 64)
    assert cache_request(Recipe(), pictures, on_gpu=True).reads == drawn / len(pictures.train)
    assert cache_request(Recipe(), pictures, on_gpu=False).wish == "off"
    assert cache_request(recipe, pictures, on_gpu=False).wish == "on"
    assert cache_request(recipe, pictures, on_gpu=False).image_size == recipe.cpu.image_size
    with pytest.raises(BadInput, match="1 fault"):
        parse_recipe('[loader]\ncache = "sometimes"\n', "test")
