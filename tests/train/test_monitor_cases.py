"""Reports of what a monitor said, or failed to say: few numbers, with units, and no nagging. By id."""

import warnings

import pytest
from known_loops import QUICK, SleepyLoader, SleepyStep
from report.sample_run import gpu_run

from rigwise.knowledge.metrics import load_metrics
from rigwise.report.comparison import compare
from rigwise.train.ceilings.measure import ceilings
from rigwise.train.step.half_precision import half_precision, why_not_half

MONITORED = {"GPU": "%", "temp": "°C", "power": "W", "peak reserved": "GiB of 24.0", "data wait": "%"}


def test_b80_utilisation_temperature_power_and_clock_are_sampled_and_shown_with_their_units() -> None:
    units = {metric.name: metric.unit for metric in load_metrics().values() if metric.target == "gpu"}
    asked_for = ("gpu_utilization_ratio", "temperature_celsius", "power_draw_watts", "sm_clock_mhz")
    assert [units[name] for name in asked_for] == ["ratio", "celsius", "watts", "mhz"]
    shown = {column.head: column.unit for column in compare(gpu_run()).columns}
    assert {head: shown[head] for head in MONITORED} == MONITORED


def test_b81_a_trial_shows_five_numbers_of_its_machine_and_no_hundred() -> None:
    trained = {"batch", "step mean", "step p95", "speed", "peak allocated", "val accuracy"}
    of_the_machine = [column.head for column in compare(gpu_run()).columns if column.head not in trained]
    assert sorted(of_the_machine) == sorted(MONITORED)


def test_b82_what_was_not_given_is_not_asked_for_step_after_step(capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        report = ceilings(SleepyLoader(1e-3), SleepyStep(2e-3), usual=False, sampling=QUICK)
    printed = capsys.readouterr()
    assert report.mfu_ratio is None
    assert (warned, printed.out, printed.err, report.refused) == ([], "", "", ())


TU11X = (7, 5)


@pytest.mark.parametrize(
    "name",
    [
        "NVIDIA GeForce GTX 1660 Ti",
        "NVIDIA GeForce GTX 1650 SUPER",
        "GeForce GTX 1650 with Max-Q Design",
        "NVIDIA GeForce GTX 1630",
        "NVIDIA T400 4GB",
        "NVIDIA T1000 8GB",
        "Quadro T2000",
        "NVIDIA T1200 Laptop GPU",
        "NVIDIA GeForce MX450",
    ],
)
def test_b57_cards_on_which_fp16_gives_nan_train_in_fp32_and_say_why(name: str) -> None:
    assert half_precision(name, TU11X) == "fp32"
    assert why_not_half(name, TU11X) == (
        f"{name} has no tensor cores, and fp16 convolutions give NaN on its chip (TU116, TU117); fp32 is used"
    )


@pytest.mark.parametrize(
    ("name", "capability", "precision"),
    [
        ("Tesla T4", TU11X, "fp16"),
        ("NVIDIA GeForce RTX 2060 SUPER", TU11X, "fp16"),
        ("NVIDIA TITAN RTX", TU11X, "fp16"),
        ("Quadro RTX 4000", TU11X, "fp16"),
        ("Tesla V100-SXM2-16GB", (7, 0), "fp16"),
        ("NVIDIA GeForce GTX 1080 Ti", (6, 1), "fp16"),
        ("NVIDIA H100 80GB HBM3", (9, 0), "bf16"),
        ("NVIDIA RTX A2000", (8, 6), "bf16"),
        ("NVIDIA T1000", (8, 9), "bf16"),
    ],
)
def test_b57_other_cards_keep_their_half_precision(name: str, capability: tuple[int, int], precision: str) -> None:
    assert half_precision(name, capability) == precision
    assert why_not_half(name, capability) == ""
