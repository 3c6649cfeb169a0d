import math

import pytest

from rigwise.statistics import percentile, smooth, wilson_interval


@pytest.mark.parametrize(
    ("correct", "total", "low", "high"),
    [
        # (p + z²/2n ± z sqrt(p(1-p)/n + z²/4n²)) / (1 + z²/n) with z = 1.96, worked by hand
        (8, 10, 0.4902, 0.9433),
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (164, 200, 0.7609, 0.8671),
        (1, 1, 0.2065, 1.0),
    ],
)
def test_wilson_interval_is_as_worked_by_hand(correct: int, total: int, low: float, high: float) -> None:
    assert wilson_interval(correct, total) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))


def test_nothing_counted_says_nothing() -> None:
    assert wilson_interval(0, 0) == (0.0, 1.0)


def test_more_pictures_narrow_the_interval() -> None:
    few, many = wilson_interval(41, 50), wilson_interval(820, 1000)
    assert many[1] - many[0] < (few[1] - few[0]) / 3


@pytest.mark.parametrize(
    ("values", "percent", "expected"),
    [([7.0], 95, 7.0), (list(range(1, 101)), 95, 95.05), ([3, 1, 2], 0, 1), ([3, 1, 2], 100, 3), ([10, 20], 25, 12.5)],
)
def test_percentile(values: list[float], percent: float, expected: float) -> None:
    assert percentile(values, percent) == pytest.approx(expected)


def test_smoothing_starts_at_the_first_value_and_keeps_a_constant() -> None:
    assert smooth([5.0] * 4) == pytest.approx([5.0] * 4)


def test_smoothing_weighs_the_past() -> None:
    # weight 0.5: (0.25 * 0 + 0.5 * 0 + ...): after 0, 0, 8 the average is 4, and 4 / (1 - 0.125) = 4.571
    assert smooth([0.0, 0.0, 8.0], weight=0.5)[-1] == pytest.approx(4 / 0.875)


def test_a_loss_that_is_not_finite_is_a_gap_and_spoils_nothing() -> None:
    smoothed = smooth([2.0, math.nan, math.inf, 2.0])
    assert math.isnan(smoothed[1])
    assert math.isinf(smoothed[2])
    assert smoothed[3] == pytest.approx(2.0)
