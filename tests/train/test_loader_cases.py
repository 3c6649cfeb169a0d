"""Reported loader failures (training.tsv), by id: preflight, the first batch, rates, and resuming."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import ClassVar

import pytest
import torch
from msgspec.structs import replace
from torch.utils.data import DataLoader, Dataset
from train import bad_pictures as odd

from rigwise.errors import CannotTell
from rigwise.sources.live import LiveSource
from rigwise.train.machine import usable_cores
from rigwise.train.pictures.loader import Batch, PictureStream
from rigwise.train.pictures.picture_set import Picture
from rigwise.train.preflight.first_batch import first_batch
from rigwise.train.preflight.limits import Limits, read_limits
from rigwise.train.preflight.preflight import LoaderPlan, preflight
from rigwise.train.preflight.sweep import Rate, least_of_the_fastest, measure_rates
from rigwise.train.preparation import Request, prepare
from rigwise.train.progress import Silent
from rigwise.train.recipe_sections import LoaderSection, Recipe
from rigwise.units import GIB, MIB

ROOMY = Limits(cores=16, ram_bytes=64 * GIB, shared_memory_bytes=32 * GIB, max_open_files=65_536, num_open_files=20)
FLOAT_BATCH = 32 * 3 * 224 * 224 * 4
PLAN = LoaderPlan(num_workers=8, batch_bytes=FLOAT_BATCH)


def names(plan: LoaderPlan, **limits: object) -> list[str]:
    return [concern.name for concern in preflight(plan, replace(ROOMY, **limits))]


def test_b66_shared_memory_of_a_container_is_too_small() -> None:
    (concern,) = preflight(PLAN, replace(ROOMY, shared_memory_bytes=64 * MIB))
    assert (concern.name, concern.stops) == ("shared_memory_small", True)
    assert "8 workers with 2 batches of 18.4 MiB each need 312 MiB in /dev/shm, which has 64.0 MiB" in concern.because
    assert "bus error" in concern.because
    assert "--shm-size=625m" in concern.next_step


def test_b66_threads_need_no_shared_memory() -> None:
    assert names(LoaderPlan(num_threads=8, batch_bytes=FLOAT_BATCH), shared_memory_bytes=64 * MIB) == []


@pytest.mark.parametrize(
    ("limits", "plan", "name", "stops"),
    [
        ({"max_open_files": 60}, PLAN, "open_files_few", True),
        ({"ram_bytes": 4 * GIB}, replace(PLAN, worker_bytes=GIB), "ram_small", True),
        ({"ram_bytes": 4 * GIB}, replace(PLAN, cache_bytes=5 * GIB), "ram_small", False),
        ({"cores": 4}, PLAN, "cores_few", False),
        ({"cuda_started": True}, PLAN, "fork_after_cuda", True),
        ({"opencv_threads": 8}, PLAN, "fork_with_opencv", True),
        ({"other_threads": ("sampler",)}, PLAN, "fork_with_threads", False),
    ],
)
def test_each_limit_is_a_concern_of_its_own(
    limits: dict[str, object], plan: LoaderPlan, name: str, stops: bool
) -> None:
    (concern,) = preflight(plan, replace(ROOMY, **limits))
    assert (concern.name, concern.stops) == (name, stops)
    assert names(plan) == []


@pytest.mark.parametrize("start", ["spawn", "forkserver"])
def test_clean_starts_have_no_fork_trouble(start: str) -> None:
    assert names(replace(PLAN, start_method=start), cuda_started=True, opencv_threads=8, other_threads=("a",)) == []


def test_what_stops_the_run_comes_first() -> None:
    assert names(PLAN, cores=2, cuda_started=True) == ["fork_after_cuda", "cores_few"]


def test_limits_that_cannot_be_told_are_no_concern() -> None:
    assert preflight(PLAN, Limits(cores=16)) == ()


def test_this_process_is_read(tmp_path: Path) -> None:
    held, done = [(tmp_path / str(number)).open("w") for number in range(30)], threading.Event()
    waiting = threading.Thread(target=done.wait, name="waits-for-a-test")
    waiting.start()
    limits = read_limits(LiveSource(), shared_memory=tmp_path)
    done.set()
    waiting.join()
    for file in held:
        file.close()
    assert limits.num_open_files > 30
    assert "waits-for-a-test" in limits.other_threads
    assert limits.shared_memory_bytes is not None
    assert limits.cuda_started is False


@pytest.fixture
def machine(tmp_path: Path) -> Callable[[str], LiveSource]:
    """Machines whose control group has such a CPU quota."""

    def make(quota: str) -> LiveSource:
        odd.write(tmp_path / "proc/self/cgroup", b"0::/job\n")
        odd.write(tmp_path / "sys/fs/cgroup/job/cpu.max", quota.encode())
        return LiveSource(tmp_path)

    return make


def test_b73_cores_are_those_affinity_and_quota_allow(machine: Callable[[str], LiveSource]) -> None:
    everywhere = os.sched_getaffinity(0)
    assert usable_cores(machine("max 100000")) == len(everywhere)
    assert usable_cores(machine("50000 100000")) == 1
    os.sched_setaffinity(0, {min(everywhere)})
    try:
        assert usable_cores(machine("max 100000")) == 1
        assert names(LoaderPlan(num_threads=1), cores=usable_cores(machine("max 100000"))) == []
    finally:
        os.sched_setaffinity(0, everywhere)


def test_b73_a_run_is_told_of_more_threads_than_cores(easy_pictures: Path, tmp_path: Path) -> None:
    class Told(Silent):
        sentences: ClassVar[list[str]] = []

        def tell(self, sentence: str) -> None:
            self.sentences.append(sentence)

    cores = usable_cores()
    for threads in (cores, cores + 1):
        recipe = Recipe(loader=LoaderSection(num_threads=threads))
        prepare(Request(root=easy_pictures, recipe=recipe, out=tmp_path / "run"), Told())
    (told,) = Told.sentences
    assert f"{cores + 1} workers and threads share {cores} CPU core(s)" in told


class Sleeping(Dataset[int]):
    """Hangs at its first item, as OpenCV's threads do after a fork."""

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> int:
        time.sleep(600)
        return index


@pytest.mark.parametrize("num_workers", [0, 2])
def test_b67_a_loader_that_hangs_is_named_in_time_and_its_workers_ended(num_workers: int) -> None:
    before = set(torch.multiprocessing.active_children())
    began = time.monotonic()
    with pytest.raises(CannotTell) as raised:
        first_batch(
            DataLoader(Sleeping(), num_workers=num_workers), timeout_seconds=1, limits=replace(ROOMY, opencv_threads=8)
        )
    assert time.monotonic() - began < 20
    assert "no batch within 1.00 s" in raised.value.what
    assert ("sleeping" in raised.value.why) if num_workers else ("__getitem__" in raised.value.why)
    assert ("cv2.setNumThreads(0)" in raised.value.next_step) == bool(num_workers)
    assert set(torch.multiprocessing.active_children()) == before


def test_b67_a_loader_that_works_gives_its_batch() -> None:
    assert first_batch(DataLoader([1, 2, 3, 4], batch_size=2), 30).tolist() == [1, 2]


def test_b67_what_the_loader_raises_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        first_batch((1 // 0 for _ in range(1)), 30)


class Clock:
    """Time that passes only as the ways say."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def way(self, seconds_per_batch: float, batch_size: int = 4) -> Callable[[], Iterator[tuple[None, list[int]]]]:
        def batches() -> Iterator[tuple[None, list[int]]]:
            while True:
                self.now += seconds_per_batch
                yield None, [0] * batch_size

        return batches


def test_b74_workers_beyond_the_knee_are_not_taken() -> None:
    clock = Clock()
    seconds = {"1": 8.0, "2": 4.0, "4": 2.0, "8": 1.97, "16": 2.4}
    ways = {workers: clock.way(taken) for workers, taken in seconds.items()}
    rates = measure_rates(ways, 10, clock=clock)
    assert rates["4"].per_second == pytest.approx(2.0)
    assert least_of_the_fastest(list(seconds), rates) == "4"


def test_b74_unequal_work_is_not_compared() -> None:
    clock = Clock()
    with pytest.raises(ValueError, match="not the same work"):
        measure_rates({"bare": clock.way(1), "framework": clock.way(1, batch_size=8)}, 10, clock=clock)


@pytest.mark.parametrize(("cpu", "gpu", "taken"), [(900, 400, "cpu"), (900, 3000, "gpu"), (900, 910, "cpu")])
def test_b78_the_decoder_is_chosen_by_its_rate(cpu: float, gpu: float, taken: str) -> None:
    rates = {name: Rate(per_second=rate, lowest=rate, highest=rate) for name, rate in (("cpu", cpu), ("gpu", gpu))}
    assert least_of_the_fastest(["cpu", "gpu"], rates) == taken


def test_b75_resuming_hangs_nowhere_and_gives_the_same_batches(tmp_path: Path) -> None:
    for number in range(7):
        odd.write(tmp_path / str(number), odd.encoded(odd.photo(number), "JPEG"))
    pictures = [Picture(path=str(number), label=number, sha256="") for number in range(7)]

    def stream() -> PictureStream:
        return PictureStream(pictures, tmp_path, image_size=32, seed=3, batch_size=3, num_threads=2)

    whole = list(stream().train_batches(12))
    for stop in (1, 4, 11):
        with closing(stream().train_batches(12)) as interrupted:
            list(islice(interrupted, stop))
        resumed: list[Batch] = []
        working = threading.Thread(
            target=lambda start=stop, to=resumed: to.extend(stream().train_batches(12 - start, start_step=start))
        )
        working.start()
        working.join(timeout=20)
        assert not working.is_alive()
        assert all(torch.equal(a[0], b[0]) for a, b in zip(whole[stop:], resumed, strict=True))
