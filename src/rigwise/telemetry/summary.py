"""Mean and maximum of the samples of one stretch of a run. Pure."""

from collections import defaultdict
from collections.abc import Iterable
from statistics import fmean

import msgspec

from rigwise.knowledge.metrics import load_metrics
from rigwise.records.run import Sample


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """What one metric did, in the metric's unit."""

    mean: float
    max: float
    num_samples: int


def summarise(
    samples: Iterable[Sample], start_seconds: float, end_seconds: float, target: str | None = None
) -> dict[str, Summary]:
    """Metric name -> its summary between two moments of the run, both included.

    A metric nobody sampled in that time is not in the result. Bit masks have no mean and are left out.

    Args:
        samples: any samples of the run.
        start_seconds: since the run began.
        end_seconds: since the run began.
        target: only samples of this GPU UUID, core, host or process; None takes all targets together.
    """
    values: dict[str, list[float]] = defaultdict(list)
    for sample in samples:
        if start_seconds <= sample.at <= end_seconds and target in (None, sample.target):
            values[sample.metric].append(sample.value)
    masks = {metric.name for metric in load_metrics().values() if metric.unit == "bits"}
    return {
        metric: Summary(mean=fmean(numbers), max=max(numbers), num_samples=len(numbers))
        for metric, numbers in values.items()
        if metric not in masks
    }
