"""The table of metrics is whole, and its units fit the NVML rows it points to."""

from rigwise.knowledge.metrics import load_metrics
from rigwise.knowledge.nvml_calls import nvml_calls

SCALES = {("percent", "ratio"): 0.01, ("milliwatts", "watts"): 0.001}


def test_names_end_in_their_unit() -> None:
    for metric in load_metrics().values():
        if metric.unit != "bits":
            assert metric.name.endswith("_" + metric.unit), metric.name


def test_gpu_metrics_take_the_unit_of_their_nvml_row_to_their_own() -> None:
    for metric in load_metrics().values():
        if metric.target == "gpu":
            call = nvml_calls()[metric.call]
            assert call.scope == "gpu"
            assert call.unit == metric.unit or (call.unit, metric.unit) in SCALES, metric.name
            assert metric.scale == SCALES.get((call.unit, metric.unit), 1.0), metric.name


def test_the_sampler_asks_gpus_only_for_what_is_quick() -> None:
    """facts: process lists take the driver 4.5 ms, these rows a few microseconds each (MangoHud #2104)."""
    gpu = [metric for metric in load_metrics().values() if metric.target == "gpu"]
    assert {metric.pace for metric in gpu} == {nvml_calls()[metric.call].pace for metric in gpu} == {"fast"}


def test_every_metric_is_explained() -> None:
    for metric in load_metrics().values():
        assert metric.label
        assert metric.call
        assert metric.description.endswith("."), metric.name
