"""An interrupted experiment goes on as if nothing had happened: killed at any moment, any number of times."""

import os
import random
import shutil
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import msgspec
import pytest
import torch
from killed_runs import STEPS, Dying, assert_same_run, begin, end, losses, to_the_end, wait_until
from plain_loop import PlainLoop, network
from simulated_gpu import SimulatedGpu
from simulated_progress import Told
from torch import nn

import rigwise
from rigwise.errors import BadInput, CannotTell
from rigwise.records.run import RunRecord, TrialResult
from rigwise.telemetry.reading import load_run
from rigwise.train.checkpoint.checkpoint_file import checkpoint_files
from rigwise.train.checkpoint.run_checkpoints import RunCheckpoints
from rigwise.train.checkpoint.run_lock import RunLock
from rigwise.train.experiment import run_experiment
from rigwise.train.full_trial import run_full_trial
from rigwise.train.picture_lab import PictureLab
from rigwise.train.recipe_sections import CheckpointsSection
from rigwise.train.step.vram_simulation import BLOCK_BYTES, simulate_vram
from rigwise.units import GIB

KILLED = -9
IN_SECOND_TRIAL = Dying(at="batch", call=STEPS + 7)
"""Its fifth step: batch number 1 of each trial is taken twice."""


@pytest.fixture(scope="module")
def uninterrupted(easy_pictures: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("uninterrupted") / "run"
    assert to_the_end(run, easy_pictures) == 0
    assert len(losses(run)) == 2 * STEPS
    return run


def moments(seed: int) -> Iterator[Dying]:
    """Random steps of random trials at which the process dies, three times at most."""
    chance = random.Random(seed)
    yield from (Dying(at=chance.choice(("loss", "batch")), call=chance.randint(1, 2 * STEPS)) for _ in range(3))


@pytest.mark.parametrize("seed", [1, 2, random.SystemRandom().randrange(10**6)])
def test_b92_killed_at_random_steps_it_ends_as_if_it_had_not_been(
    uninterrupted: Path, easy_pictures: Path, tmp_path: Path, seed: int
) -> None:
    run = tmp_path / "run"
    killed = [to_the_end(run, easy_pictures, dying) for dying in moments(seed)].count(KILLED)
    assert to_the_end(run, easy_pictures) == 0
    assert killed
    assert_same_run(run, uninterrupted)
    assert len(load_run(run).resumptions) <= killed


def test_b92_killed_again_and_again_before_within_and_after_the_steps(
    uninterrupted: Path, easy_pictures: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    moments = [("inputs", 1), ("batch", 2), ("validate", 2), ("review", 1), ("inputs", 2), ("validate", 3), ("loss", 9)]
    killed = [to_the_end(run, easy_pictures, Dying(at=at, call=call)) for at, call in moments]
    assert killed == [KILLED] * len(moments)
    assert to_the_end(run, easy_pictures) == 0
    assert_same_run(run, uninterrupted)


def test_b94_killed_while_a_checkpoint_is_written_the_one_before_is_used(
    uninterrupted: Path, easy_pictures: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    child = begin(run, easy_pictures)
    wait_until(lambda: len(checkpoint_files(run / "checkpoints" / "cpu-fp32")) > 1)
    wait_until(lambda: child.exitcode is not None or list(run.glob("checkpoints/*/*.unfinished")))
    child.kill()
    assert end(child) == KILLED
    assert to_the_end(run, easy_pictures) == 0
    assert_same_run(run, uninterrupted)


@pytest.fixture
def interrupted(easy_pictures: Path, tmp_path: Path) -> Path:
    """A run killed in its second trial, with two checkpoints of each."""
    run = tmp_path / "run"
    assert to_the_end(run, easy_pictures, IN_SECOND_TRIAL) == KILLED
    assert len(checkpoint_files(run / "checkpoints" / "cpu-bf16")) == 2
    return run


def error_of(run: Path) -> str:
    """The error the last child ended with: its kind, what, why and next step."""
    return (run / "error").read_text()


def test_b94_on_a_full_disk_training_goes_on_and_the_earlier_checkpoint_stays(
    uninterrupted: Path, interrupted: Path, easy_pictures: Path
) -> None:
    before = checkpoint_files(interrupted / "checkpoints" / "cpu-bf16")
    assert to_the_end(interrupted, easy_pictures, limit_bytes=1_000_000) == 0
    assert_same_run(interrupted, uninterrupted)
    assert checkpoint_files(interrupted / "checkpoints" / "cpu-bf16") == before
    told = [line for line in (interrupted / "told").read_text().splitlines() if "File too large" in line]
    assert len(told) == 1
    assert "training goes on" in told[0]
    assert [cost.num_failed > 0 for cost in load_run(interrupted).checkpoints] == [False, True]


@pytest.mark.parametrize("size_bytes", [0, 70_000])
def test_b94_a_truncated_last_checkpoint_falls_back_to_the_one_before_and_says_so(
    uninterrupted: Path, interrupted: Path, easy_pictures: Path, size_bytes: int
) -> None:
    last, _ = checkpoint_files(interrupted / "checkpoints" / "cpu-bf16")
    os.truncate(last, size_bytes)
    assert to_the_end(interrupted, easy_pictures) == 0
    assert_same_run(interrupted, uninterrupted)
    [resumption] = load_run(interrupted).resumptions
    assert (resumption.trial, resumption.step) == ("cpu bf16", 2)
    assert "a later checkpoint cannot be used" in resumption.text
    assert last.name in resumption.text


def test_b96_nothing_goes_on_silently_from_scratch(interrupted: Path, easy_pictures: Path, tmp_path: Path) -> None:
    whole = shutil.copytree(interrupted, tmp_path / "whole")
    for path in checkpoint_files(interrupted / "checkpoints" / "cpu-bf16"):
        os.truncate(path, 1000)
    recorded = losses(interrupted)
    assert to_the_end(interrupted, easy_pictures) == 0
    assert error_of(interrupted).startswith("CannotTell\nno checkpoint in ")
    assert losses(interrupted) == recorded
    shutil.rmtree(whole / "checkpoints" / "cpu-bf16")
    assert to_the_end(whole, easy_pictures) == 0
    assert "the checkpoint of step 4 is gone" in error_of(whole)


@pytest.mark.parametrize(
    ("recipe", "first"),
    [({"image_size": 48}, "cpu.image_size was 32, and is 48 here"), ({"batch_size": 4}, "training.batch_size was 8")],
)
def test_b96_a_checkpoint_of_another_recipe_is_an_error_that_names_the_first_difference(
    interrupted: Path, easy_pictures: Path, recipe: dict[str, int], first: str
) -> None:
    assert to_the_end(interrupted, easy_pictures, **recipe) == 0
    assert first in error_of(interrupted) or "pictures.image_size was 32" in error_of(interrupted)
    assert error_of(interrupted).startswith("BadInput\n")


def test_b96_other_weights_shapes_are_an_error(tmp_path: Path) -> None:
    rigwise.Checkpoints(tmp_path).save(step=1, batch_size=4, model=network(width=8))
    with pytest.raises(BadInput) as refused:
        rigwise.Checkpoints(tmp_path).restore(model=network(width=9))
    assert refused.value.why == "model: 0.weight is (8, 6) float32 in the checkpoint, (9, 6) float32 here"


class Forgetful(nn.Linear):
    """Takes its first weights again whatever it is given, as a training that reloads the pretrained ones."""

    def load_state_dict(self, *state: object, **options: object) -> None:
        nn.init.constant_(self.weight, 0.5)


def test_b93_a_loss_that_is_not_what_it_was_is_an_error(tmp_path: Path) -> None:
    @torch.no_grad()
    def loss(model: nn.Module) -> float:
        return float(model(torch.ones(1, 3)).sum())

    model = Forgetful(3, 1)
    nn.init.constant_(model.weight, 2.0)
    rigwise.Checkpoints(tmp_path).save(step=1, batch_size=4, replay=lambda: loss(model), model=model)
    again = Forgetful(3, 1)
    with pytest.raises(CannotTell) as refused:
        rigwise.Checkpoints(tmp_path).restore(replay=lambda: loss(again), model=again)
    assert "the same batch has loss" in refused.value.why


def test_b19_another_batch_after_resuming_neither_ends_the_training_nor_doubles_it(tmp_path: Path) -> None:
    total_samples = 100 * 10
    rigwise.Checkpoints(tmp_path).save(step=150, batch_size=2, model=network())
    found = rigwise.Checkpoints(tmp_path).restore(model=network())
    assert found is not None
    assert found.samples_seen == 300
    assert found.steps_left(total_samples, batch_size=2) == 350
    assert found.steps_left(total_samples, batch_size=8) == 88


def test_b95_steps_come_from_samples_and_the_effective_batch(tmp_path: Path) -> None:
    rigwise.Checkpoints(tmp_path).save(step=2, batch_size=1, accumulation=4, model=network())
    found = rigwise.Checkpoints(tmp_path).restore(model=network())
    assert found is not None
    assert (found.effective_batch_size, found.samples_seen) == (4, 8)
    assert found.step + found.steps_left(32, batch_size=4, accumulation=1) == 8
    assert found.step + found.steps_left(32, batch_size=1, accumulation=4) == 8


def test_b95_a_loop_resumed_at_another_batch_sees_every_sample_once(tmp_path: Path) -> None:
    seen = PlainLoop(tmp_path, batch_size=4).run(4).samples_seen
    resumed = PlainLoop(tmp_path, batch_size=2)
    order = rigwise.SampleOrder(21, seed=3)
    after = rigwise.SampleOrder(21, seed=3, start=resumed.samples_seen)
    assert resumed.samples_seen == seen == 16
    assert list(islice(after, 5)) == list(islice(order, 16, 21))


def saving(lab: PictureLab, recorded: RunRecord | None = None) -> PictureLab:
    """The same laboratory, whose trials are saved every second step."""
    section = CheckpointsSection(every_steps=2)
    run = RunCheckpoints(lab.folder.path, section, lab.writer, Told(), recorded)
    return msgspec.structs.replace(lab, checkpoints=run)


def test_a_trial_that_ran_out_of_memory_is_not_tried_again(make_lab: Callable[..., PictureLab]) -> None:
    lab = saving(make_lab())
    failed = TrialResult(
        name="cpu fp32", device="cpu", precision="fp32", batch_size=8, image_size=32, steps=0, not_run="out of memory"
    )
    lab.writer.event("out of memory", "cpu fp32: CUDA out of memory")
    lab.writer.record(failed)
    lab.writer.flush()
    rows, left = run_full_trial(saving(lab, load_run(lab.folder.path)), "cpu fp32", "fp32", 8)
    assert rows[0] == failed
    assert [(row.name, row.batch_size, row.not_run) for row in rows[1:]] == [("cpu fp32 batch 4", 4, None)]
    assert left is not None
    lab.writer.flush()
    assert [row.name for row in load_run(lab.folder.path).trials] == ["cpu fp32", "cpu fp32 batch 4"]


def test_b19_micro_batches_and_the_loss_scale_go_on() -> None:
    def taking(model: nn.Module) -> rigwise.RecoveringStep:
        return rigwise.RecoveringStep(
            model,
            torch.optim.SGD(model.parameters(), lr=0.1),
            lambda model, batch: model(batch[0]).mean(),
            precision="fp16",
        )

    before, after = taking(network()), taking(network())
    before.micro_batch_size = 2
    before.notes.append("micro-batches of 2 from now on")
    scale = before.state_dict()["scaler"]
    assert scale["scale"] == 2.0**16
    scale["scale"] = 8.0
    after.load_state_dict(before.state_dict() | {"scaler": scale})
    assert (after.micro_batch_size, after.precision, after.notes) == (2, "fp16", before.notes)
    assert after.state_dict()["scaler"]["scale"] == 8.0


def test_b44_a_checkpoint_takes_no_more_memory_than_a_step(make_lab: Callable[..., PictureLab]) -> None:
    peaks = []
    for prepared in (make_lab, lambda device: saving(make_lab(device))):
        rows = run_experiment(prepared(device=SimulatedGpu(simulate_vram(8 * GIB)))).rows
        peaks.append([row.peak_allocated_bytes for row in rows if row.val_total])
    kept_batch_bytes = 8 * 3 * 32 * 32 + BLOCK_BYTES  # pictures and labels, on the CPU but for this simulated GPU
    assert len(peaks[0]) == 3
    assert all(after <= before + kept_batch_bytes for before, after in zip(*peaks, strict=True))


def test_a_checkpoint_is_in_no_steps_time(make_lab: Callable[..., PictureLab]) -> None:
    lab = saving(make_lab())
    experiment = run_experiment(lab)
    lab.writer.flush()
    costs = load_run(lab.folder.path).checkpoints
    assert [cost.num_saved for cost in costs] == [4, 4]
    slowest = max(step.step_seconds for step in experiment.steps[3:])
    assert all(cost.seconds > 0 for cost in costs)
    assert slowest < sum(cost.seconds for cost in costs)


def test_a_run_that_trained_on_another_device_does_not_go_on(make_lab: Callable[..., PictureLab]) -> None:
    lab = saving(make_lab())
    run_full_trial(lab, "cpu fp32", "fp32", 8)
    lab.writer.flush()
    recorded = load_run(lab.folder.path)
    [cost] = recorded.checkpoints
    elsewhere = msgspec.structs.replace(recorded, checkpoints=(msgspec.structs.replace(cost, device="cuda"),))
    with pytest.raises(BadInput) as refused:
        run_full_trial(saving(lab, elsewhere), "cpu fp32", "fp32", 8)
    assert refused.value.why == "cpu fp32 ran on cuda, and now it would be cpu"


def test_a_run_folder_in_use_by_a_living_process_is_refused(easy_pictures: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    child = begin(run, easy_pictures)
    wait_until(lambda: (run / "run.lock").exists() and (run / "run.lock").read_text())
    with pytest.raises(BadInput, match="in use") as refused:
        RunLock(run)
    assert f"process {child.pid}" in refused.value.why
    child.kill()
    end(child)
    with RunLock(run):
        assert (run / "run.lock").read_text() == f"{os.getpid()}\n"
