"""Checkpoints on a real card: what goes on has the losses it would have had. Run by scripts/gpu_acceptance."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
import torch
from plain_loop import network
from simulated_progress import Told

import rigwise
from rigwise.telemetry.reading import load_run
from rigwise.train.checkpoint.run_checkpoints import RunCheckpoints
from rigwise.train.experiment import run_experiment
from rigwise.train.picture_lab import PictureLab
from rigwise.train.recipe_sections import CheckpointsSection
from rigwise.train.step.device import CudaDevice

pytestmark = pytest.mark.gpu
Note = Callable[[str, object], None]


@pytest.mark.parametrize("precision", ["fp32", "fp16"])
def test_losses_and_random_numbers_go_on(tmp_path: Path, record_property: Note, precision: str) -> None:
    device = CudaDevice().torch_device
    model = network().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    take_step = rigwise.RecoveringStep(
        model, optimizer, lambda model, batch: model(*batch).square().mean(), device=CudaDevice(), precision=precision
    )
    parts = {"model": model, "optimizer": optimizer, "take_step": take_step}

    def losses(count: int) -> list[float]:
        return [take_step([torch.randn(16, 6, device=device)]).item() for _ in range(count)]

    losses(3)
    rigwise.Checkpoints(tmp_path).save(step=3, batch_size=16, **parts)
    before = losses(4)
    torch.cuda.manual_seed_all(99)
    assert rigwise.Checkpoints(tmp_path).restore(**parts) is not None
    after = losses(4)
    record_property("losses", f"{before} then, {after} after restoring")
    assert after == pytest.approx(before, rel=1e-3)


def test_a_trial_is_saved_in_no_steps_time(make_lab: Callable[..., PictureLab], record_property: Note) -> None:
    plain = make_lab(device=CudaDevice(), steps=40)
    run = RunCheckpoints(plain.folder.path, CheckpointsSection(every_steps=5), plain.writer, Told())
    experiment = run_experiment(msgspec.structs.replace(plain, checkpoints=run))
    plain.writer.flush()
    costs = load_run(plain.folder.path).checkpoints
    slowest = max(step.step_seconds for step in experiment.steps if step.step % 5 == 1 and step.step > 5)
    per_save = min(cost.seconds / cost.num_saved for cost in costs)
    record_property("seconds", f"{per_save:.3f} a checkpoint, slowest step after one {slowest:.4f}")
    assert all(cost.num_saved >= 8 for cost in costs)
    assert slowest < per_save
