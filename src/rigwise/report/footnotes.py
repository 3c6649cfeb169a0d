"""How each number of a report was measured, in words."""

from collections.abc import Mapping

from rigwise.knowledge.metrics import Metric
from rigwise.records.run import RunRecord
from rigwise.speech import say


def footnotes(run: RunRecord, metrics: Mapping[str, Metric]) -> tuple[tuple[str, str], ...]:
    """Pairs of a number's name and how it came about; telemetry only as far as this run sampled it."""
    return (*_of_trials(), *_of_samples(run, metrics))


def _of_trials() -> tuple[tuple[str, str], ...]:
    return (
        (
            say("step mean, step p95"),
            say(
                "Time of whole optimiser steps, waiting for pictures included, by CUDA events on a GPU and the host "
                "clock on a CPU. The first few steps of a trial, in which memory is taken and kernels are chosen, "
                "are left out. p95: 95 of 100 steps were faster."
            ),
        ),
        (say("speed"), say("Pictures of one batch divided by the mean step time.")),
        (
            say("peak allocated, peak reserved"),
            say(
                "PyTorch's allocator on the GPU: what tensors held at most, and what it had taken from the driver "
                "for them. The driver's own share (CUDA context) comes on top. 1 GiB = 2^30 bytes."
            ),
        ),
        (say("GPU, temp, power"), say("Mean of the telemetry samples taken while the trial ran, validation included.")),
        (say("data wait"), say("Share of the step time spent waiting for the next batch of pictures.")),
        (
            say("val accuracy"),
            say(
                "Validation pictures whose likeliest class is their label. The interval is Wilson's, 95 %: it covers "
                "the luck of the draw of these pictures, not wrong labels or pictures unlike the ones met later."
            ),
        ),
    )


def _of_samples(run: RunRecord, metrics: Mapping[str, Metric]) -> tuple[tuple[str, str], ...]:
    sampled = dict.fromkeys(sample.metric for sample in run.samples)
    return tuple((metrics[name].label, metrics[name].description) for name in sampled if name in metrics)
