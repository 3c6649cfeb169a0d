"""Batch sizes that hold, recovery and ceilings, on a real card; memory is limited by PyTorch, whatever the card has."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest
import torch
from torch import Tensor, nn

import rigwise
from rigwise.records.ceilings import Bound
from rigwise.train.batch.recovery import RecoveringStep
from rigwise.train.batch.training import TorchTraining
from rigwise.train.ceilings.pace import Sampling
from rigwise.train.step.device import CudaDevice
from rigwise.units import GIB, MIB

pytestmark = pytest.mark.gpu
Note = Callable[[str, object], None]
LIMIT_BYTES = GIB
SIDE = 64
"""Pixels; a sample keeps some MiB of activations."""


def mean_loss(model: nn.Module, batch: Sequence[Tensor]) -> Tensor:
    images, labels = (part.to("cuda", non_blocking=True) for part in batch)
    return nn.functional.cross_entropy(model(images), labels)


def rows(batch_size: int, step: int = 0) -> tuple[Tensor, Tensor]:
    noise = torch.Generator().manual_seed(step)
    return torch.rand(batch_size, 3, SIDE, SIDE, generator=noise), torch.arange(batch_size) % 4


def wide() -> nn.Module:
    torch.manual_seed(0)
    layers = (nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 64, 3, padding=1), nn.ReLU())
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 4)).to("cuda")


def limit_memory(limit_bytes: int = LIMIT_BYTES) -> None:
    """PyTorch refuses to take more than this, as a smaller card would."""
    torch.cuda.set_per_process_memory_fraction(limit_bytes / torch.cuda.mem_get_info()[1])


@contextmanager
def limited_memory() -> Iterator[None]:
    torch.cuda.empty_cache()
    limit_memory()
    try:
        yield
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
        torch.cuda.empty_cache()


def limited_training(batch_size: int) -> TorchTraining:
    """Runs in a child process of the search."""
    limit_memory()
    model = wide()
    return TorchTraining(
        model=model,
        optimizer=torch.optim.AdamW(model.parameters()),
        loss=mean_loss,
        train_batch=lambda step: rows(batch_size, step),
        val_batches=lambda: [rows(batch_size)],
    )


def steps_run(training: TorchTraining, steps: int) -> int:
    for step in range(steps):
        training.train_step(step)
    return steps


def test_the_batch_found_runs_and_twice_as_much_does_not(record_property: Note) -> None:
    found = rigwise.find_batch(limited_training, most=100_000)
    record_property("found", found.batch_size)
    record_property("predicted_MiB", round((found.predicted.peak_bytes if found.predicted else 0) / MIB))
    record_property(
        "probes", ", ".join(f"{probe.batch_size}{'' if probe.held else ' failed'}" for probe in found.probes)
    )
    with limited_memory():
        assert steps_run(limited_training(found.batch_size), 5) == 5
        with pytest.raises(torch.OutOfMemoryError):
            steps_run(limited_training(2 * found.batch_size), 5)


def test_out_of_memory_costs_no_sample(record_property: Note) -> None:
    whole, halved = wide(), wide()
    batch = rows(512)
    free = RecoveringStep(whole, torch.optim.SGD(whole.parameters(), lr=0.1), mean_loss, device=CudaDevice())
    tight = RecoveringStep(halved, torch.optim.SGD(halved.parameters(), lr=0.1), mean_loss, device=CudaDevice())
    expected = free(batch)
    torch.cuda.empty_cache()
    limit_memory(512 * MIB)
    try:
        loss = tight(batch)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    record_property("notes", "; ".join(tight.notes))
    assert tight.micro_batch_size is not None
    assert tight.micro_batch_size < 512
    assert float(loss) == pytest.approx(float(expected), rel=1e-3)
    for one, other in zip(whole.parameters(), halved.parameters(), strict=True):
        assert torch.allclose(one, other, rtol=1e-2, atol=1e-4)


class Waits:
    """A loader that is slower than any step of this file."""

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        for step in range(1000):
            time.sleep(0.05)
            yield rows(8, step)


def test_what_bounds_a_loop_is_named(record_property: Note) -> None:
    model = wide()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(batch: Sequence[Tensor]) -> None:
        optimizer.zero_grad()
        mean_loss(model, batch).backward()
        optimizer.step()

    sampling = Sampling(seconds=1.0, lever_seconds=1.0, max_seconds=10.0)
    slow = rigwise.ceilings(Waits(), step, model=model, optimizer=optimizer, sampling=sampling)
    ready = [rows(256, number) for number in range(4)]
    fast = rigwise.ceilings(ready * 100, step, model=model, optimizer=optimizer, sampling=sampling)
    record_property("slow loader", slow.verdict)
    record_property("batches at hand", fast.verdict)
    assert slow.bound is Bound.LOADER
    assert fast.bound is not Bound.LOADER
