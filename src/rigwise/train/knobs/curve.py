"""What a sweep of learning rates says: smoothed losses, the longest fall, the steepest point. Pure."""

import math
import statistics
from collections.abc import Sequence

from rigwise.records.learning_rate import RatePoint
from rigwise.speech import say

SMOOTHING = 0.98
"""fastai's and Lightning's."""
NUM_FIRST = 10
"""Our choice: so many losses at the smallest rates, where nothing is learned yet, show the noise between batches."""
NUM_LAST = 5
"""fastai leaves out so many at the end (callback/schedule.py, lr_find): the loss is on its way up there."""
FALL_IN_ERRORS = 3.0
"""Our choice: a fall within three standard errors of the first losses may be chance."""
SLOPE_REACH = 5
"""Our choice: slopes are taken from so many steps before to so many after; those of single steps are mostly noise."""
LEAST_FALL_RATIO = 0.01
"""Our choice: a fall of less than this share of the loss is none, however quiet the batches are."""


def smoothed(losses: Sequence[float]) -> list[float]:
    """Exponential mean of the losses so far, corrected for its start at zero (Adam, arXiv:1412.6980, section 3).

    >>> [round(value, 3) for value in smoothed([2.0, 2.0, 1.0])]
    [2.0, 2.0, 1.66]
    """
    mean, found = 0.0, []
    for count, loss in enumerate(losses, start=1):
        mean = SMOOTHING * mean + (1 - SMOOTHING) * loss
        found.append(mean / (1 - SMOOTHING**count))
    return found


def looked_at(points: Sequence[RatePoint]) -> Sequence[RatePoint]:
    """The part of the curve that can say something: without the first, noisy means, and without the rise."""
    return points[NUM_FIRST : len(points) - NUM_LAST]


def why_nothing(points: Sequence[RatePoint]) -> str:
    """Why this curve suggests nothing, in words; "" when it does."""
    part = looked_at(points)
    if len(part) < NUM_FIRST:
        return say(
            "the loss diverged after {count} steps: too few rates were tried below that; start at a smaller rate",
            count=len(points),
        )
    first = [point.loss for point in points[:NUM_FIRST]]
    lowest = min(point.smoothed_loss for point in part)
    start = statistics.mean(first)
    chance = FALL_IN_ERRORS * statistics.stdev(first) / math.sqrt(NUM_FIRST)
    if start - lowest <= max(chance, LEAST_FALL_RATIO * abs(start)):
        return say(
            "the loss never fell: {start} at the smallest rates, {lowest} at its lowest, {noise} between batches",
            start=f"{start:.4g}",
            lowest=f"{lowest:.4g}",
            noise=f"{statistics.stdev(first):.2g}",
        )
    return ""


def longest_fall(points: Sequence[RatePoint]) -> float:
    """The rate in the middle of the longest fall, steps that rise in between left out: fastai's `valley`.

    Smith, Cyclical Learning Rates, WACV 2017, section 3.3, reads the same off the plot: where the loss goes down well.
    """
    losses = [point.smoothed_loss for point in points]
    lengths, starts = [1] * len(losses), list(range(len(losses)))
    for end in range(len(losses)):
        for before in range(end):
            if losses[end] < losses[before] and lengths[end] < lengths[before] + 1:
                lengths[end], starts[end] = lengths[before] + 1, starts[before]
    last = max(range(len(losses)), key=lengths.__getitem__)
    return points[(starts[last] + last) // 2].learning_rate


def steepest_fall(points: Sequence[RatePoint]) -> float:
    """The rate at which the smoothed loss falls fastest per decade: Lightning's suggestion, fastai's `steep`."""
    reach = min(SLOPE_REACH, (len(points) - 1) // 2)
    slopes = {
        (after.smoothed_loss - before.smoothed_loss) / math.log(after.learning_rate / before.learning_rate): here
        for before, here, after in zip(points, points[reach:], points[2 * reach :], strict=False)
    }
    return slopes[min(slopes)].learning_rate
