"""Reads the fast metrics of one GPU through a source. Must not wait for a GPU that is gone."""

from collections.abc import Iterator

from rigwise.knowledge.metrics import Metric, load_metrics
from rigwise.records.evidence import Evidence, Status
from rigwise.sources.source import Source

GONE = {Status.LOST, Status.TIMED_OUT}
"""Answers after which the GPU's other questions are not worth asking: each would fail, or hang, as well."""
NEVER_ANSWERED = {Status.NOT_SUPPORTED, Status.NOT_PERMITTED, Status.NOT_FOUND, Status.NOT_RECORDED}
"""Answers that stay the same however often one asks."""


class GpuGone(Exception):
    """The GPU stopped answering; the message is the source's words."""


class GpuMeter:
    """The fast metrics of one GPU, without those it does not have."""

    def __init__(self, source: Source, index: int, uuid: str) -> None:
        self.index = index
        self.uuid = uuid
        self._source = source
        self._metrics = [metric for metric in load_metrics().values() if metric.target == "gpu"]

    def read(self) -> Iterator[tuple[str, float]]:
        """Each metric that has a value now. A value that is missing is left out.

        Raises:
            GpuGone: the GPU stopped answering.
        """
        answers: dict[str, Evidence] = {}
        for metric in tuple(self._metrics):
            if metric.call not in answers:
                answers[metric.call] = self._source.nvml(metric.call, self.index)
            answer = answers[metric.call]
            if answer.status in GONE:
                raise GpuGone(answer.text)
            if answer.status in NEVER_ANSWERED:
                self._metrics.remove(metric)
            value = number(answer, metric)
            if value is not None:
                yield metric.name, value


def find_gpus(source: Source) -> list[GpuMeter]:
    """A meter for each GPU that answers now."""
    count = source.nvml("DeviceGetCount")
    if count.status is not Status.OK:
        return []
    uuids = {index: source.nvml("DeviceGetUUID", index) for index in range(int(count.text))}
    return [GpuMeter(source, index, uuid.text) for index, uuid in uuids.items() if uuid.status is Status.OK]


def number(answer: Evidence, metric: Metric) -> float | None:
    """The metric's value in its unit, or None where the answer holds none.

    >>> load = Evidence(source="nvml", key="", status=Status.OK, text="gpu=50 memory=41")
    >>> number(load, load_metrics()["gpu_utilization_ratio"])
    0.5
    """
    if answer.status is not Status.OK:
        return None
    text = answer.text
    if metric.field:
        text = dict(part.partition("=")[::2] for part in text.split()).get(metric.field, "")
    try:
        return float(text) * metric.scale
    except ValueError:
        return None
