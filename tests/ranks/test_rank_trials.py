"""Several ranks train as one process does: the same batches, the same loss curve, the same pictures scored once."""

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
import rank_works

from rigwise.records.gpu import GpuProcess
from rigwise.report.json_text import train_json
from rigwise.report.ranks_text import ranks_lines
from rigwise.telemetry.reading import load_run
from rigwise.train.experiment import run_experiment
from rigwise.train.full_trial import Trained, run_full_trial
from rigwise.train.picture_lab import PictureLab
from rigwise.train.ranks.ready import held_before
from rigwise.train.ranks.setup import RanksSetup

TOLERANCE = 1e-3
"""Relative, of each loss: sums are taken in another order, and six steps at a high learning rate carry that on."""
BATCH_SIZE = 9
"""Odd, so that two ranks have unequal rows."""
TWO = RanksSetup(num_ranks=2, backend="gloo")

MakeLab = Callable[..., PictureLab]


def with_ranks(lab: PictureLab, **changes: Any) -> PictureLab:
    return msgspec.structs.replace(lab, ranks=msgspec.structs.replace(TWO, **changes))


def trained(lab: PictureLab) -> Trained:
    rows, left = run_full_trial(lab, "cpu fp32", "fp32", BATCH_SIZE)
    assert left is not None, rows
    return left


def losses(left: Trained) -> list[float]:
    return [step.loss for step in left.steps]


@pytest.fixture
def one_process(make_lab: MakeLab) -> Trained:
    return trained(make_lab(batch_size=BATCH_SIZE))


def test_two_ranks_have_the_loss_curve_and_the_scores_of_one_process(make_lab: MakeLab, one_process: Trained) -> None:
    two = trained(with_ranks(make_lab(batch_size=BATCH_SIZE)))
    assert losses(two) == pytest.approx(losses(one_process), rel=TOLERANCE)
    assert losses(two)[0] == pytest.approx(losses(one_process)[0], rel=1e-5)
    assert two.result.val_total == one_process.result.val_total
    assert two.result.val_correct == one_process.result.val_correct
    assert two.review.num_answers == one_process.review.num_answers
    assert two.result.num_ranks == 2
    running = "bn1.running_var"
    assert two.weights[running].tolist() == pytest.approx(one_process.weights[running].tolist(), rel=1e-2)


def test_b04_after_out_of_memory_on_one_rank_all_start_again_with_micro_batches(make_lab: MakeLab) -> None:
    made = make_lab(batch_size=BATCH_SIZE, image_size=96, steps=3)
    lab = with_ranks(made, make_device=rank_works.small_on_rank_1)
    left = trained(lab)
    assert left.result.name == "cpu fp32 micro-batch 2"
    assert (left.result.batch_size, left.result.steps) == (BATCH_SIZE, 3)
    assert "rank 1 of 2" in left.result.note
    assert "all ranks started again with micro-batches of 2, the batch stays 9" in left.result.note
    run = read(lab)
    assert [(trial.name, trial.not_run is None) for trial in run.trials] == [
        ("cpu fp32", False),
        ("cpu fp32 micro-batch 2", True),
    ]


@pytest.mark.slow
def test_a_loss_that_is_not_finite_on_one_rank_ends_the_trial_for_all(make_lab: MakeLab) -> None:
    lab = with_ranks(make_lab(batch_size=BATCH_SIZE))
    lab = msgspec.structs.replace(lab, recipe=rank_works.exploding(lab.recipe))
    rows, left = run_full_trial(lab, "cpu fp32", "fp32", BATCH_SIZE)
    assert left is None
    assert "the loss became" in str(rows[0].not_run)


@pytest.mark.slow
def test_an_experiment_of_two_ranks_is_compared_with_one(make_lab: MakeLab) -> None:
    lab = with_ranks(make_lab(batch_size=BATCH_SIZE, steps=2))
    run_experiment(lab)
    run = read(lab)
    full = {trial.name: trial for trial in run.trials if trial.steps > 1}
    assert {name: each.num_ranks for name, each in full.items()} == {
        "cpu fp32 1 rank": 1,
        "cpu fp32": 2,
        "cpu bf16": 2,
    }
    speeds = [full[name].images_per_second or 0 for name in ("cpu fp32", "cpu fp32 1 rank")]
    scaling = json.loads(train_json(run))["scaling"]
    assert [(each["trial"], each["rows"]) for each in scaling] == [("cpu fp32", [5, 4]), ("cpu bf16", [5, 4])]
    assert scaling[0]["scaling_efficiency_ratio"] == pytest.approx(speeds[0] / speeds[1] / 2)
    assert scaling[1]["scaling_efficiency_ratio"] is None
    assert any("cpu fp32: 2 ranks x 4 to 5 samples" in line for line in ranks_lines(run))


def test_b106_who_holds_a_gpu_before_a_trial_is_named() -> None:
    left_behind = GpuProcess(pid=77, kind="compute", used_bytes=3 * 2**30, name="ray::Trainer", user="ray")
    held = {
        "GPU-a": [GpuProcess(pid=5, kind="compute", used_bytes=2**29, name="rigwise", user="me")],
        "GPU-b": [left_behind],
    }
    assert list(held_before(["GPU-a", "GPU-b"], held.__getitem__, own=[5])) == [
        "memory of cuda:1 is held before the trial: ray::Trainer (PID 77, 3.00 GiB)"
    ]


def read(lab: PictureLab) -> Any:
    lab.writer.flush()
    return load_run(lab.folder.path)
