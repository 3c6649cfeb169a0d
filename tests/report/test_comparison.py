import math

import pytest
from report.sample_run import cpu_run, empty_run, gpu_run, one_step_run, trial

from rigwise.records.run import RunRecord, Step
from rigwise.report.comparison import Comparison, accuracy, compare, why_no_gpu

ALL_HEADS = ["batch", "step mean", "step p95", "speed", "peak allocated", "peak reserved", "GPU", "temp",
             "power", "data wait", "val accuracy"]  # fmt: skip


def cells_of(comparison: Comparison, head: str) -> tuple[str, ...]:
    return next(column.cells for column in comparison.columns if column.head == head)


def unit_of(run: RunRecord, head: str) -> str:
    return next(column.unit for column in compare(run).columns if column.head == head)


def test_every_measurement_has_a_column_in_the_order_of_the_terminal() -> None:
    assert [column.head for column in compare(gpu_run()).columns] == ALL_HEADS


def test_cells_are_numbers_in_the_unit_of_the_head() -> None:
    comparison = compare(gpu_run())
    assert cells_of(comparison, "step mean") == ("3.40", "0.420", "0.420", "0.280", "0.510", "")
    assert cells_of(comparison, "peak reserved")[2] == "5.40"
    assert cells_of(comparison, "GPU")[2] == "81.0"
    assert cells_of(comparison, "val accuracy")[2] == "82.0 (76.1-86.7)"
    assert unit_of(gpu_run(), "peak reserved") == "GiB of 24.0"


def test_short_steps_and_little_memory_get_smaller_units() -> None:
    small = trial("fp32", step_mean_seconds=0.012, peak_reserved_bytes=300 * 2**20, peak_allocated_bytes=2**20)
    run = gpu_run(trials=(small,), steps=())
    assert unit_of(run, "step mean") == "ms"
    assert cells_of(compare(run), "step mean") == ("12.0",)
    assert unit_of(run, "peak reserved") == "MiB"
    assert cells_of(compare(run), "peak reserved") == ("300",)


def test_what_no_trial_measured_is_named_and_not_drawn() -> None:
    comparison = compare(cpu_run())
    assert comparison.not_measured == ("peak allocated", "peak reserved", "GPU", "temp", "power")
    assert {column.head for column in comparison.columns} == set(ALL_HEADS) - set(comparison.not_measured)


def test_a_trial_that_did_not_run_says_why_and_shows_no_number() -> None:
    comparison = compare(cpu_run())
    position = next(index for index, row in enumerate(comparison.rows) if row.trial == "cuda one batch")
    assert comparison.rows[position].not_run == "no NVIDIA GPU: Driver Not Loaded"
    assert all(column.cells[position] == "" for column in comparison.columns)


def test_what_was_measured_before_a_trial_failed_is_no_result() -> None:
    failed = trial("fp32", not_run="out of memory at step 3")
    assert not any(any(column.cells) for column in compare(gpu_run(trials=(failed,), steps=())).columns)


def test_a_trial_cut_off_in_the_middle_is_a_row() -> None:
    steps = tuple(Step(trial="bf16", step=n, at=n, step_seconds=1, data_seconds=0, loss=1) for n in (1, 2, 3))
    rows = compare(gpu_run(trials=(trial("fp32"),), steps=steps)).rows
    assert [(row.trial, row.not_run) for row in rows] == [("fp32", None), ("bf16", "it was interrupted after step 3")]


def test_why_no_training_ran_on_a_gpu() -> None:
    assert why_no_gpu(cpu_run()) == "no NVIDIA GPU: Driver Not Loaded"
    assert why_no_gpu(gpu_run()) == why_no_gpu(empty_run()) == ""


def test_a_gpu_that_only_failed_its_one_batch_ran_no_training() -> None:
    proof = trial("cuda one batch", steps=1, note="equal to the CPU result: relative difference 0.5")
    cut = trial("cuda fp32", steps=0, not_run="equal to the CPU result: relative difference 0.5")
    assert why_no_gpu(gpu_run(trials=(proof, cut, trial("cpu fp32", device="cpu")))) == cut.not_run


def test_only_the_recommended_trial_is_marked() -> None:
    assert [row.trial for row in compare(gpu_run()).rows if row.recommended] == ["bf16"]
    assert not any(row.recommended for row in compare(gpu_run(recommendation=None)).rows)


def test_no_trials_no_columns() -> None:
    assert compare(empty_run()).rows == ()
    assert compare(empty_run()).columns == ()


def test_one_picture_has_an_interval_as_wide_as_it_deserves() -> None:
    assert cells_of(compare(one_step_run()), "val accuracy") == ("0 (0-79.3)",)


def test_a_number_that_is_not_finite_is_said() -> None:
    run = gpu_run(trials=(trial("fp32", images_per_second=math.inf),), steps=())
    assert cells_of(compare(run), "speed") == ("not finite",)


@pytest.mark.parametrize("correct", [0, 57, 100])
def test_the_proportion_lies_in_its_interval(correct: int) -> None:
    ratio, low, high = (
        float(part) for part in accuracy(correct, 100).replace("(", "").replace(")", "").replace("-", " ").split()
    )
    assert low <= ratio <= high
