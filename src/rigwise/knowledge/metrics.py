"""The metrics a run samples, one row each in metrics.csv, validated once. Must not measure anything itself."""

import csv
from functools import cache
from importlib import resources
from typing import Literal

import msgspec

from rigwise.knowledge.nvml_calls import Pace, nvml_calls
from rigwise.speech import say

MetricUnit = Literal["ratio", "bytes", "bytes_per_second", "watts", "celsius", "mhz", "bits", "cores", "seconds"]
TargetKind = Literal["gpu", "cpu", "host", "process"]


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """One metric: what it is called, its unit, and where it comes from."""

    name: str
    """Ends in its unit: `power_draw_watts`."""
    label: str
    """For people, without the unit."""
    unit: MetricUnit
    target: TargetKind
    """What it is measured of: each GPU, each core, the host, or this process with its children."""
    pace: Pace
    call: str
    """For a GPU a key of nvml_calls.csv, otherwise the Python function asked."""
    field: str
    """The part of the answer that is meant, "" when the answer is one number."""
    scale: float
    """Takes the answer's number to `unit`."""
    description: str


@cache
def load_metrics() -> dict[str, Metric]:
    """Every metric by name, in the order of the table, its label and description in the user's language.

    Raises:
        ValueError: the table itself is wrong.
    """
    text = resources.files("rigwise.knowledge").joinpath("metrics.csv").read_text(encoding="utf-8")
    metrics = [_metric(row) for row in csv.DictReader(text.splitlines())]
    by_name = {metric.name: metric for metric in metrics}
    if len(by_name) != len(metrics):
        raise ValueError("metrics.csv names a metric twice")
    for metric in metrics:
        if metric.target == "gpu" and metric.field not in (nvml_calls()[metric.call].names or ("",)):
            raise ValueError(f"metrics.csv: {metric.call} has no field {metric.field!r} for {metric.name}")
    return by_name


def _metric(row: dict[str, str]) -> Metric:
    in_words = {"label": say(row["label"]), "description": say(row["description"])}
    return msgspec.convert(row | in_words, Metric, strict=False)
