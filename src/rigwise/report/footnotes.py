"""How each number of a report was measured, in words."""

from collections.abc import Mapping

from rigwise.knowledge.metrics import Metric
from rigwise.records.run import RunRecord
from rigwise.speech import say


def footnotes(run: RunRecord, metrics: Mapping[str, Metric]) -> tuple[tuple[str, str], ...]:
    """Pairs of a number's name and how it came about; telemetry only as far as this run sampled it."""
    return (*_of_trials(), *(_of_texts() if run.texts else _of_pictures()), *_of_samples(run, metrics))


def _of_trials() -> tuple[tuple[str, str], ...]:
    return (
        (
            say("step mean, step p95"),
            say(
                "Time of whole optimiser steps, waiting for data included, by CUDA events on a GPU and the host "
                "clock on a CPU. The first few steps of a trial, in which memory is taken and kernels are chosen, "
                "are left out. p95: 95 of 100 steps were faster."
            ),
        ),
        (
            say("peak allocated, peak reserved"),
            say(
                "PyTorch's allocator on the GPU: what tensors held at most, and what it had taken from the driver "
                "for them. The driver's own share (CUDA context) comes on top. 1 GiB = 2^30 bytes."
            ),
        ),
        (say("GPU, temp, power"), say("Mean of the telemetry samples taken while the trial ran, validation included.")),
        (say("data wait"), say("Share of the step time spent waiting for the next batch.")),
    )


def _of_pictures() -> tuple[tuple[str, str], ...]:
    return (
        (say("speed"), say("Pictures of one batch divided by the mean step time.")),
        (
            say("val accuracy"),
            say(
                "Validation pictures whose likeliest class is their label. The interval is Wilson's, 95 %: it covers "
                "the luck of the draw of these pictures, not wrong labels or pictures unlike the ones met later."
            ),
        ),
    )


def _of_texts() -> tuple[tuple[str, str], ...]:
    return (
        (say("speed"), say("Tokens of a mean batch, padding not counted, divided by the mean step time.")),
        (
            say("val loss, perplexity"),
            say(
                "Mean cross-entropy in nats of every validation token that is to be learned, each document read by "
                "itself in pieces of at most the sequence length; perplexity is its exponential. The interval, 95 %, "
                "takes pieces as independent draws and covers the luck of the draw of these texts. Losses under "
                "different tokenisers cannot be compared."
            ),
        ),
        (
            say("next token right"),
            say(
                "Validation tokens that were the likeliest. The interval is Wilson's, 95 %, and takes tokens as "
                "independent, which those of one text are not: it is narrower than it should be."
            ),
        ),
    )


def _of_samples(run: RunRecord, metrics: Mapping[str, Metric]) -> tuple[tuple[str, str], ...]:
    sampled = dict.fromkeys(sample.metric for sample in run.samples)
    return tuple((metrics[name].label, metrics[name].description) for name in sampled if name in metrics)
