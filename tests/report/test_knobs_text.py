"""How peaks, knobs and the learning rate reach terminal, page and JSON."""

import json

import pytest
from report.sample_run import gpu_run
from report.test_terminal_text import shown

from rigwise.records.knobs import KnobResult, KnobsReport, Peak, TrialPeak
from rigwise.records.learning_rate import LearningRateSearch, RatePoint
from rigwise.report.html import render_report
from rigwise.report.json_text import train_json
from rigwise.report.run_text import run_text
from rigwise.units import MIB


def peak(activations_mib: int) -> Peak:
    return Peak(
        parameters_bytes=45 * MIB,
        gradients_bytes=29 * MIB,
        optimizer_bytes=45 * MIB,
        activations_bytes=activations_mib * MIB,
        temporary_bytes=23 * MIB,
    )


@pytest.fixture
def knobs() -> KnobsReport:
    return KnobsReport(
        peaks=(
            TrialPeak(trial="fp32", predicted=peak(649), allocated_bytes=900 * MIB, reserved_bytes=1200 * MIB),
            TrialPeak(trial="bf16", predicted=None, why_not="DataDependentOutputException: <b>"),
        ),
        trial="bf16",
        allocator="PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, set before CUDA started",
        knobs=(
            KnobResult(
                name="checkpointing",
                in_recipe=True,
                step_time_ratio=1.31,
                step_time_low_ratio=1.28,
                step_time_high_ratio=1.35,
                num_pairs=6,
                predicted_before=peak(649),
                predicted_after=peak(300),
                measured_before_bytes=900 * MIB,
                measured_after_bytes=540 * MIB,
                loss_difference_ratio=0.0,
                gradient_difference_ratio=0.0,
                kept=True,
                because="a step takes 1.31 times as long; the peak is 40.0 % lower; worth it where memory is short",
            ),
            KnobResult(
                name="ema_decay = 0.999",
                in_recipe=False,
                same_training=False,
                step_time_ratio=1.0,
                step_time_low_ratio=0.99,
                step_time_high_ratio=1.01,
                predicted_before=peak(649),
                predicted_after=peak(649),
            ),
            KnobResult(name="compile", in_recipe=False, why_not="it failed: no compiler"),
        ),
    )


@pytest.fixture
def search() -> LearningRateSearch:
    points = tuple(
        RatePoint(learning_rate=10.0 ** (number - 6), loss=3.0 - number / 4, smoothed_loss=3.0 - number / 5)
        for number in range(6)
    )
    return LearningRateSearch(points=points, suggestion=3e-3, steepest=1e-2, ended="the loss diverged at 0.5")


def test_the_terminal_sets_predicted_beside_measured(knobs: KnobsReport) -> None:
    lines = shown(run_text(gpu_run(knobs=knobs), page="report.html"), 300)
    assert "fp32: 791 MiB predicted (parameters 45.0 MiB" in lines
    assert "measured 900 MiB allocated, 1.17 GiB reserved" in lines
    assert "bf16: not predicted: DataDependentOutputException" in lines
    assert "cuDNN's work space" in lines
    assert "1.31 (1.28-1.35)" in lines
    assert "540 MiB (-40 %)" in lines
    assert "bit-equal" in lines
    assert "your choice" in lines
    assert "compile not compared: it failed: no compiler" in lines


def test_the_page_has_the_tables_and_a_way_to_them(knobs: KnobsReport, search: LearningRateSearch) -> None:
    page = render_report(gpu_run(knobs=knobs, lr_search=search))
    for wanted in ('<a href="#memory">', 'id="memory"', "1.31 (1.28-1.35)", "DataDependentOutputException: &lt;b&gt;"):
        assert wanted in page
    assert '<a href="#learning-rate">' in page
    assert 'id="learning-rate-curve"' in page
    assert "0.003, the middle of the longest fall" in page
    without = render_report(gpu_run())
    assert 'id="memory"' not in without
    assert 'id="learning-rate"' not in without


def test_a_search_that_suggests_nothing_says_why(search: LearningRateSearch) -> None:
    refused = LearningRateSearch(points=(), suggestion=None, steepest=None, ended="it ended", why_not="it never fell")
    assert "none suggested: it never fell; 0 rates tried, it ended" in shown(
        run_text(gpu_run(lr_search=refused), page="report.html"), 300
    )
    assert "it ended" in render_report(gpu_run(lr_search=refused))


def test_json_holds_what_was_measured(knobs: KnobsReport, search: LearningRateSearch) -> None:
    printed = json.loads(train_json(gpu_run(knobs=knobs, lr_search=search)))
    assert printed["knobs"]["schema"] == "rigwise.knobs/1"
    assert printed["knobs"]["peaks"][0]["predicted"]["activations_bytes"] == 649 * MIB
    assert printed["knobs"]["knobs"][0]["step_time_ratio"] == 1.31
    assert printed["lr_search"]["suggestion"] == 3e-3
    assert json.loads(train_json(gpu_run()))["knobs"] is None
