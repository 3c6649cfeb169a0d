"""Samples GPUs and host in the background while a run goes on. Must not fail the run, nor slow it.

Polling every 100 ms was seen to degrade GPU work (Syllo/nvtop#365), and a process list holds the driver for 4.5 ms
(flightlessmango/MangoHud#2104): so four samples a second, of questions the driver answers in microseconds.
"""

import threading
import time
from types import TracebackType
from typing import Self

from rigwise.errors import RigwiseError
from rigwise.records.run import Sample
from rigwise.sources.source import Source
from rigwise.speech import say
from rigwise.telemetry.gpu_meter import GpuGone, GpuMeter, find_gpus
from rigwise.telemetry.host_meter import PROCESS, HostMeter
from rigwise.telemetry.writer import RunWriter

SLOW_SECONDS = 5.0
"""Between readings of slow metrics, and between questions to a GPU that is gone."""
STOP_SECONDS = 1.0


class Sampler:
    """A thread that asks the source and psutil `hz` times a second. Use as a context manager inside the writer's."""

    def __init__(
        self, source: Source, writer: RunWriter, *, hz: float = 4.0, slow_seconds: float = SLOW_SECONDS
    ) -> None:
        self._source = source
        self._writer = writer
        self._period_seconds = 1 / hz
        self._slow_seconds = slow_seconds
        self._host = HostMeter(writer.elapsed)
        self._gpus: list[GpuMeter] = []
        self._gone: set[str] = set()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="rigwise sampler", daemon=True)

    def start(self) -> None:
        """Begin sampling."""
        self._thread.start()

    def stop(self) -> None:
        """End sampling, within a second even where the driver hangs."""
        self._stopping.set()
        self._thread.join(STOP_SECONDS)
        if self._thread.is_alive():
            self._writer.event("sampler", say("a question to the driver was still unanswered when sampling ended"))

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def _run(self) -> None:
        self._gpus = find_gpus(self._source)
        slow_due = self._writer.elapsed()
        try:
            while not self._stopping.wait(self._period_seconds):
                at = self._writer.elapsed()
                slow = at >= slow_due
                if slow:
                    slow_due = at + self._slow_seconds
                self._sample(at, slow=slow)
        except RigwiseError:  # the database cannot be written: the run meets the same error at its next record
            return

    def _sample(self, at: float, *, slow: bool) -> None:
        began = time.perf_counter()
        for gpu in self._gpus:
            if slow or gpu.uuid not in self._gone:
                self._sample_gpu(gpu, at)
        for measured in (self._host.read(), self._host.read_slow() if slow else ()):
            for metric, target, value in measured:
                self._writer.record(Sample(at=at, metric=metric, target=target, value=value))
        cost_seconds = time.perf_counter() - began
        self._writer.record(Sample(at=at, metric="sampler_tick_seconds", target=PROCESS, value=cost_seconds))

    def _sample_gpu(self, gpu: GpuMeter, at: float) -> None:
        try:
            for metric, value in gpu.read():
                self._writer.record(Sample(at=at, metric=metric, target=gpu.uuid, value=value))
        except GpuGone as gone:
            if gpu.uuid not in self._gone:
                self._gone.add(gpu.uuid)
                self._writer.event(
                    "gpu_lost", say("GPU {index} stopped answering: {words}", index=gpu.index, words=gone)
                )
            return
        if gpu.uuid in self._gone:
            self._gone.remove(gpu.uuid)
            self._writer.event("gpu_back", say("GPU {index} answers again", index=gpu.index))
