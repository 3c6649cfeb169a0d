"""Whether a knob is worth having, from what was measured of it alone."""

import math

import msgspec
from torch import Tensor

from rigwise.records.ceilings import LeverResult
from rigwise.records.knobs import KnobResult, Peak
from rigwise.speech import say
from rigwise.train.knobs.variants import Variant
from rigwise.train.smoke import GRADIENT_TOLERANCE
from rigwise.units import percent, significant

SMALLEST_SAVING = 0.02
"""Our choice: as for speed (`ceilings.comparing.SMALLEST_GAIN`), what saves less is not worth a line in a recipe."""
LITTLE_SLOWER = 0.05
"""Our choice: a step that takes at most this much longer, by the end of its interval, is a fair price for memory."""


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """The first steps of a trial, by themselves."""

    losses: tuple[float, ...]
    gradient: Tensor
    """Of the first step, flattened, on the CPU; of parameters that learn."""
    peak_bytes: int | None = None
    """None on the CPU."""
    note: str = ""
    """What had to be changed for want of memory; "" where nothing had to."""
    predicted: Peak | None = None


def variant_row(variant: Variant) -> KnobResult:
    """Its row before anything was measured."""
    return KnobResult(
        name=variant.name,
        in_recipe=variant.in_recipe,
        same_training=variant.same_training,
        why_not=variant.why_not,
    )


def weigh(variant: Variant, timed: LeverResult, off: Side, on: Side) -> KnobResult:
    """The knob's row: time, memory, difference, and whether it is worth having."""
    ratio, low, high = (_inverse(gain) for gain in (timed.gain_ratio, timed.gain_high_ratio, timed.gain_low_ratio))
    result = msgspec.structs.replace(
        variant_row(variant),
        step_time_ratio=ratio,
        step_time_low_ratio=low,
        step_time_high_ratio=high,
        confidence_ratio=timed.confidence_ratio,
        num_pairs=timed.num_pairs,
        setup_seconds=timed.setup_seconds,
        predicted_before=off.predicted,
        predicted_after=on.predicted,
        measured_before_bytes=off.peak_bytes,
        measured_after_bytes=on.peak_bytes,
        loss_difference_ratio=loss_difference(off, on) if variant.same_training else None,
        gradient_difference_ratio=gradient_difference(off, on) if variant.same_training else None,
    )
    kept, because = _verdict(variant, timed, result)
    return msgspec.structs.replace(result, kept=kept, because=because)


def _inverse(gain_ratio: float | None) -> float | None:
    """A ratio of rates as one of times."""
    return 1 / gain_ratio if gain_ratio else None


def loss_difference(off: Side, on: Side) -> float | None:
    """The largest difference of the losses, of their size; None where one is not finite."""
    pairs = zip(off.losses, on.losses, strict=True)
    largest = max(abs(first - second) / max(abs(first), 1e-30) for first, second in pairs)
    return largest if math.isfinite(largest) else None


def gradient_difference(off: Side, on: Side) -> float | None:
    """Length of the difference of the gradients, of their length; None where they cannot be compared."""
    if off.gradient.shape != on.gradient.shape:
        return None
    difference = float((off.gradient - on.gradient).norm() / off.gradient.norm().clamp_min(1e-30))
    return difference if math.isfinite(difference) else None


def _verdict(variant: Variant, timed: LeverResult, result: KnobResult) -> tuple[bool, str]:
    memory = result.measured_ratio if result.measured_ratio is not None else result.predicted_ratio
    saves = memory is not None and memory <= 1 - SMALLEST_SAVING
    words = [_time_words(timed, result), *_memory_words(memory)]
    if not variant.same_training:
        return variant.in_recipe, _joined([*words, say("it changes what is learned: the validation decides")])
    difference = result.gradient_difference_ratio
    if difference is not None and difference > GRADIENT_TOLERANCE:
        told = say("the first gradient differs by {share} of its length", share=significant(difference))
        return variant.in_recipe, _joined([*words, told])
    if timed.kept or (saves and (result.step_time_high_ratio or math.inf) <= 1 + LITTLE_SLOWER):
        return True, _joined(words)
    if saves:
        return variant.in_recipe, _joined([*words, say("worth it where memory is short")])
    return False, _joined([*words, say("nothing gained")])


def _time_words(timed: LeverResult, result: KnobResult) -> str:
    if result.step_time_ratio is None or (timed.gain_low_ratio or 0.0) > 1:
        return timed.because  # faster, perhaps too little, or too late
    if (result.step_time_low_ratio or 0.0) > 1:
        return say("a step takes {ratio} times as long", ratio=significant(result.step_time_ratio))
    return say("no difference in time beyond the noise")


def _memory_words(ratio: float | None) -> list[str]:
    if ratio is None:
        return [say("its memory is not known")]
    if ratio <= 1 - SMALLEST_SAVING:
        return [say("the peak is {share} lower", share=percent(1 - ratio))]
    if ratio >= 1 + SMALLEST_SAVING:
        return [say("the peak is {share} higher", share=percent(ratio - 1))]
    return [say("the peak is the same")]


def _joined(words: list[str]) -> str:
    return "; ".join(words)
