"""The guided experiment on real steps: on the CPU, and on a simulated GPU whose memory ends."""

from collections.abc import Callable

import torch
from simulated_gpu import SimulatedGpu

from rigwise.records.run import TrialResult
from rigwise.telemetry.reading import load_run
from rigwise.train.experiment import run_experiment
from rigwise.train.picture_lab import PictureLab
from rigwise.train.step.half_precision import why_not_half
from rigwise.train.step.vram_simulation import simulate_vram
from rigwise.units import GIB, MIB

MakeLab = Callable[..., PictureLab]


def test_without_a_gpu_every_cuda_row_says_why(make_lab: MakeLab) -> None:
    lab = make_lab()
    experiment = run_experiment(lab)
    cuda = [row for row in experiment.rows if row.device == "cuda"]
    assert [row.name for row in cuda] == ["cuda one batch", "cuda fp32", "cuda mixed precision", "cuda larger batch"]
    assert {row.not_run for row in cuda} == {"no GPU in this test"}
    ran = [row for row in experiment.rows if row.not_run is None]
    assert [row.name for row in ran] == ["cpu one batch", "cpu fp32", "cpu bf16"]
    assert [row.steps for row in ran] == [1, 6, 6]


def test_every_step_and_row_is_in_the_run_folder(make_lab: MakeLab) -> None:
    lab = make_lab()
    experiment = run_experiment(lab)
    lab.writer.flush()
    run = load_run(lab.folder.path)
    assert run.trials == experiment.rows
    assert run.steps == experiment.steps
    assert [validation.step for validation in run.validations if validation.trial == "cpu fp32"] == [2, 3, 5, 6]


def test_equal_recipes_give_bit_equal_losses(make_lab: MakeLab) -> None:
    torch.use_deterministic_algorithms(True)
    try:
        first, second = (run_experiment(make_lab()) for _ in range(2))
    finally:
        torch.use_deterministic_algorithms(False)
    losses = [[step.loss for step in experiment.steps] for experiment in (first, second)]
    assert losses[0] == losses[1]
    assert len(set(losses[0])) > 6


def test_training_learns_the_colours(make_lab: MakeLab) -> None:
    row = next(row for row in run_experiment(make_lab(steps=40)).rows if row.name == "cpu fp32")
    assert row.val_total == 6
    assert row.val_correct is not None
    assert row.val_correct >= 5


def test_a_gpu_with_room_runs_the_larger_batch(make_lab: MakeLab) -> None:
    rows = run_experiment(make_lab(device=SimulatedGpu(simulate_vram(8 * GIB)))).rows
    assert [(row.name, row.batch_size) for row in rows] == [
        ("cpu one batch", 8),
        ("cuda one batch", 8),
        ("cuda fp32", 8),
        ("cuda bf16", 8),
        ("cuda bf16 larger batch", 16),
    ]
    assert all(row.not_run is None for row in rows)
    peaks = {row.name: row.peak_allocated_bytes for row in rows}
    assert peaks["cuda bf16"] < peaks["cuda bf16 larger batch"]


def rows_within(make_lab: MakeLab, limit_bytes: int) -> dict[str, TrialResult]:
    device = SimulatedGpu(simulate_vram(limit_bytes))
    return {row.name: row for row in run_experiment(make_lab(device=device, image_size=64, batch_size=16)).rows}


def test_a_full_gpu_keeps_the_batch_in_micro_batches_and_skips_the_larger_one(make_lab: MakeLab) -> None:
    peak = rows_within(make_lab, 8 * GIB)["cuda fp32"].peak_allocated_bytes
    assert peak is not None
    rows = rows_within(make_lab, int(peak * 0.8))
    kept = rows["cuda fp32"]
    assert (kept.not_run, kept.batch_size, kept.steps) == (None, 16, 6)
    assert "micro-batches of 8 from now on, the batch stays 16" in kept.note
    assert "take statistics over the micro-batch" in kept.note
    no_headroom = rows["cuda bf16 larger batch"].not_run
    assert no_headroom is not None
    assert "no headroom" in no_headroom


def test_a_gpu_on_which_nothing_fits_is_given_up_for_the_cpu(make_lab: MakeLab) -> None:
    rows = {row.name: row for row in run_experiment(make_lab(device=SimulatedGpu(simulate_vram(MIB)))).rows}
    refused = rows["cuda one batch"].not_run
    assert refused is not None
    assert "out of memory" in refused
    assert rows["cuda fp32"].not_run == refused
    assert rows["cpu fp32"].not_run is None


class Gtx1660(SimulatedGpu):
    """A card on which fp16 cannot be relied on."""

    mixed_precision = "fp32"
    no_mixed_precision = why_not_half("NVIDIA GeForce GTX 1660", (7, 5))


def test_b57_a_card_without_a_reliable_fp16_trains_in_fp32_once_and_its_row_says_why(make_lab: MakeLab) -> None:
    rows = run_experiment(make_lab(device=Gtx1660(simulate_vram(8 * GIB)))).rows
    assert [row.name for row in rows if row.not_run is None] == [
        "cpu one batch",
        "cuda one batch",
        "cuda fp32",
        "cuda fp32 larger batch",
    ]
    (left_out,) = [row for row in rows if row.not_run is not None]
    assert (left_out.name, left_out.precision) == ("cuda mixed precision", "fp16")
    assert "fp16 convolutions give NaN on its chip" in left_out.not_run
