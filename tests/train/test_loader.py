"""Batches: full, complete, equal for equal seeds whatever the threads do, and nothing left running."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from itertools import count, islice
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from train import bad_pictures as odd

from rigwise.errors import BadInput
from rigwise.train.pictures.augment import MIN_AREA_RATIO, Box, augmented, centre_box, random_box, resample
from rigwise.train.pictures.loader import Batch, PictureStream, epochs
from rigwise.train.pictures.ordered import in_order
from rigwise.train.pictures.picture_set import Picture

NUM_PICTURES = 10


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pictures")
    for number in range(NUM_PICTURES):
        kind = "JPEG" if number % 2 else "PNG"
        odd.write(folder / str(number), odd.encoded(odd.photo(number, 60 + number, 80 - number), kind))
    return folder


def stream(root: Path, num_pictures: int = NUM_PICTURES, **options: int) -> PictureStream:
    """Pictures labelled by their number."""
    pictures = [Picture(path=str(number), label=number, sha256="") for number in range(num_pictures)]
    settings = {"image_size": 32, "seed": 0, "batch_size": 4, "num_threads": 2} | options
    return PictureStream(pictures, root, **settings)


def assert_equal(left: list[Batch], right: list[Batch]) -> None:
    assert len(left) == len(right) > 0
    for (left_images, left_labels), (right_images, right_labels) in zip(left, right, strict=True):
        assert torch.equal(left_images, right_images)
        assert torch.equal(left_labels, right_labels)


def labels_of(batches: list[Batch]) -> list[int]:
    return [int(label) for _, labels in batches for label in labels]


def test_batches_are_the_same_where_the_caller_only_infers(root: Path) -> None:
    plain = list(stream(root).eval_batches())
    with torch.inference_mode():
        assert_equal(list(stream(root).eval_batches()), plain)


def test_batches_are_uint8_on_the_cpu(root: Path) -> None:
    images, labels = next(stream(root).train_batches(1))
    assert (images.shape, images.dtype, images.device.type) == ((4, 3, 32, 32), torch.uint8, "cpu")
    assert (labels.shape, labels.dtype) == ((4,), torch.int64)
    assert images.is_contiguous()


@pytest.mark.parametrize("num_threads", [1, 3])
def test_threads_change_no_bit(root: Path, num_threads: int) -> None:
    alone, threaded = stream(root, num_threads=0), stream(root, num_threads=num_threads)
    assert_equal(list(alone.train_batches(8)), list(threaded.train_batches(8)))
    assert_equal(list(alone.eval_batches()), list(threaded.eval_batches()))


def test_start_step_continues_as_if_uninterrupted(root: Path) -> None:
    whole = list(stream(root).train_batches(9))
    assert_equal(whole[5:], list(stream(root).train_batches(4, start_step=5)))


def test_seed_and_epoch_change_the_pictures(root: Path) -> None:
    first = dict(zip(*reversed(next(stream(root, batch_size=NUM_PICTURES).train_batches(1))), strict=True))
    batches = [
        next(stream(root, batch_size=NUM_PICTURES, seed=1).train_batches(1)),
        next(stream(root, batch_size=NUM_PICTURES).train_batches(1, start_step=1)),
    ]
    by_label = {int(label): image for label, image in first.items()}
    for images, labels in batches:
        assert not any(torch.equal(by_label[int(label)], image) for image, label in zip(images, labels, strict=True))


def test_every_epoch_has_every_picture_once_across_batch_borders(root: Path) -> None:
    labels = labels_of(list(stream(root).train_batches(5)))  # 20 pictures: two epochs
    assert Counter(labels[:NUM_PICTURES]) == Counter(range(NUM_PICTURES))
    assert Counter(labels[NUM_PICTURES:]) == Counter(range(NUM_PICTURES))
    assert labels[:NUM_PICTURES] != labels[NUM_PICTURES:]


def test_batch_larger_than_the_set_is_full(root: Path) -> None:
    batches = list(stream(root, num_pictures=3, batch_size=8).train_batches(3))
    assert [len(labels) for _, labels in batches] == [8, 8, 8]
    assert Counter(labels_of(batches)) == {0: 8, 1: 8, 2: 8}


def test_eval_has_every_picture_once_in_order(root: Path) -> None:
    batches = list(stream(root).eval_batches(4))
    assert [len(labels) for _, labels in batches] == [4, 4, 2]
    assert labels_of(batches) == list(range(NUM_PICTURES))


def test_eval_shows_the_middle_square(root: Path) -> None:
    images, _ = next(stream(root, num_threads=0).eval_batches(1))
    picture = Image.open(root / "0").convert("RGB")
    expected = picture.crop((0, 10, 60, 70)).resize((32, 32), Image.Resampling.BILINEAR)
    difference = images[0].permute(1, 2, 0).numpy().astype(int) - np.asarray(expected)
    assert abs(difference).max() <= 1


def test_no_pictures_is_a_mistake_of_the_caller(root: Path) -> None:
    with pytest.raises(ValueError, match="no pictures"):
        stream(root, num_pictures=0)


@pytest.mark.parametrize("num_threads", [0, 2])
def test_picture_that_broke_during_the_run_is_named(tmp_path: Path, num_threads: int) -> None:
    name = "bro\nken"
    odd.write(tmp_path / name, odd.without_end(odd.jpeg(), 0.5))
    broken = PictureStream(
        [Picture(path=name, label=0, sha256="")], tmp_path, image_size=32, seed=0, batch_size=2, num_threads=num_threads
    )
    with pytest.raises(BadInput) as raised:
        next(broken.train_batches(1))
    assert raised.value.what == "cannot use the picture bro\\nken"
    assert "truncated" in raised.value.why
    assert not odd.picture_threads()


def test_threads_end_with_the_batches(root: Path) -> None:
    list(stream(root).train_batches(3))
    assert not odd.picture_threads()


def test_threads_end_when_closed_early(root: Path) -> None:
    with closing(stream(root).train_batches(1_000_000)) as batches:
        next(batches)
        assert odd.picture_threads()
    assert not odd.picture_threads()


def test_threads_end_after_an_interrupt(root: Path) -> None:
    def train() -> None:
        with closing(stream(root).train_batches(1_000_000)) as batches:
            for _ in batches:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train()
    assert not odd.picture_threads()


def test_torch_threads_of_the_caller_stay(root: Path) -> None:
    before = torch.get_num_threads()
    list(stream(root).train_batches(2))
    assert torch.get_num_threads() == before


def test_only_so_many_items_are_begun_ahead() -> None:
    drawn: list[int] = []

    def items() -> Iterator[int]:
        for item in count():
            drawn.append(item)
            yield item

    with closing(in_order(str, items(), num_threads=4, ahead=6)) as results:
        assert list(islice(results, 10)) == [str(item) for item in range(10)]
        assert len(drawn) == 6 + 9  # the tenth result is out, its successor not yet begun


def test_each_thread_is_started_once() -> None:
    started: list[int] = []
    together = threading.Barrier(3)  # so that every thread gets one item

    def work(_item: int) -> int:
        together.wait(timeout=10)
        return threading.get_ident()

    threads = in_order(
        work, range(3), num_threads=3, ahead=3, start_thread=lambda: started.append(threading.get_ident())
    )
    assert sorted(threads) == sorted(started)


def test_results_keep_their_order_when_the_first_is_slowest() -> None:
    others_done = threading.Event()

    def work(item: int) -> int:
        if item == 0:
            assert others_done.wait(timeout=10)
        if item == 3:
            others_done.set()
        return item

    assert list(in_order(work, range(8), num_threads=2, ahead=8)) == list(range(8))


@given(st.integers(1, 30), st.integers(0, 2**40), st.integers(0, 200))
def test_epochs_from_any_draw_equal_the_uninterrupted_ones(num_pictures: int, seed: int, start: int) -> None:
    whole = list(islice(epochs(num_pictures, seed), start + 40))
    assert list(islice(epochs(num_pictures, seed, start), 40)) == whole[start:]


@given(st.integers(1, 400), st.integers(1, 400), st.integers(0, 2**40))
def test_random_box_lies_inside(height: int, width: int, seed: int) -> None:
    box = random_box(height, width, np.random.default_rng(seed))
    assert 0 <= box.top <= box.top + box.height <= height
    assert 0 <= box.left <= box.left + box.width <= width
    assert box.height >= 1
    assert box.width >= 1


def test_random_box_covers_the_stated_area() -> None:
    rng = np.random.default_rng(0)
    areas = [box.height * box.width / 300**2 for box in (random_box(300, 300, rng) for _ in range(1000))]
    assert min(areas) >= MIN_AREA_RATIO - 0.01
    assert max(areas) > 0.9


def test_half_of_the_views_are_mirrored() -> None:
    """Dark left, bright right: which side of a view is brighter tells."""
    ramp = np.broadcast_to(np.linspace(0, 255, 64).astype(np.uint8)[None, :, None], (64, 64, 3)).copy()
    views = [augmented(ramp, 16, np.random.default_rng(seed)).int() for seed in range(400)]
    mirrored = sum(bool(view[0, 0, 0] > view[0, 0, -1]) for view in views)
    assert 150 < mirrored < 250


def test_resample_keeps_colours_and_channel_order() -> None:
    plain = np.full((50, 70, 3), (200, 100, 50), dtype=np.uint8)
    view = resample(plain, Box(3, 5, 20, 30), 16)
    assert view.amax(dim=(1, 2)).tolist() == view.amin(dim=(1, 2)).tolist() == [200, 100, 50]


@pytest.mark.parametrize(("height", "width"), [(1, 1), (1, 500), (500, 1), (16, 16), (2000, 3000)])
def test_any_shape_becomes_a_square(height: int, width: int) -> None:
    pixels = np.zeros((height, width, 3), dtype=np.uint8)
    assert resample(pixels, centre_box(height, width), 32).shape == (3, 32, 32)
    assert augmented(pixels, 32, np.random.default_rng(0)).shape == (3, 32, 32)
