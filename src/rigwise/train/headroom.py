"""Whether a larger batch may be tried: only when the measured peak leaves room for it. Bytes; ratios 0 to 1."""

from rigwise.records.run import TrialResult
from rigwise.speech import say
from rigwise.units import memory, percent

LARGEST_SHARE = 0.90
"""Of the VRAM free at the start: a card 90 to 95 % full fails on the first odd batch (guides' rule)."""


def why_larger_does_not_fit(smaller: TrialResult, batch_size: int, free_bytes: int) -> str | None:
    """None when a trial at `batch_size` has headroom, else why not, with the numbers.

    The prediction is an upper bound: everything reserved at the smaller batch, weights and optimiser state included, is
    taken to grow with the batch.
    """
    if smaller.not_run is not None or smaller.peak_reserved_bytes is None:
        return say("batch {batch} was not measured, so headroom is unknown", batch=smaller.batch_size)
    predicted = smaller.peak_reserved_bytes * batch_size / smaller.batch_size
    if predicted <= LARGEST_SHARE * free_bytes:
        return None
    return say(
        "no headroom: {peak} at batch {batch} becomes up to {predicted} at batch {larger}, "
        "over {share} of the {free} free",
        peak=memory(smaller.peak_reserved_bytes),
        batch=smaller.batch_size,
        predicted=memory(predicted),
        larger=batch_size,
        share=percent(LARGEST_SHARE),
        free=memory(free_bytes),
    )
