"""Means and maxima of one stretch, against numbers worked out by hand."""

from rigwise.records.run import Sample
from rigwise.telemetry.summary import Summary, summarise

SAMPLES = [
    Sample(at=at, metric=metric, target=target, value=value)
    for at, metric, target, value in [
        (0.0, "temperature_celsius", "GPU-1", 30.0),
        (1.0, "temperature_celsius", "GPU-1", 60.0),
        (2.0, "temperature_celsius", "GPU-1", 70.0),
        (2.0, "temperature_celsius", "GPU-2", 20.0),
        (2.0, "clocks_event_reasons", "GPU-1", 4.0),
        (3.0, "temperature_celsius", "GPU-1", 99.0),
        (9.0, "power_draw_watts", "GPU-1", 300.0),
    ]
]


def test_both_ends_of_the_stretch_belong_to_it() -> None:
    summary = summarise(SAMPLES, 1.0, 2.0, "GPU-1")["temperature_celsius"]
    assert summary == Summary(mean=65.0, max=70.0, num_samples=2)


def test_without_a_target_all_are_taken_together() -> None:
    assert summarise(SAMPLES, 1.0, 2.0)["temperature_celsius"] == Summary(mean=50.0, max=70.0, num_samples=3)


def test_what_was_not_sampled_is_absent() -> None:
    assert "power_draw_watts" not in summarise(SAMPLES, 1.0, 2.0)
    assert summarise(SAMPLES, 4.0, 5.0) == {}
    assert summarise([], 0.0, 5.0) == {}


def test_a_bit_mask_has_no_mean() -> None:
    assert "clocks_event_reasons" not in summarise(SAMPLES, 0.0, 9.0)
