"""The few statistics a report needs, in plain Python. Must not import anything of ours."""

import math
from collections.abc import Sequence

Z_95 = 1.96
"""Standard normal quantile of a two-sided 95 % interval."""


def wilson_interval(correct: int, total: int, z: float = Z_95) -> tuple[float, float]:
    """Lower and upper bound of a proportion, as ratios of 0 to 1; (0, 1) when nothing was counted.

    Unlike the normal approximation it stays inside 0 to 1 and is usable for few pictures and for 100 %.
    E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927), 209-212.

    >>> [round(bound, 4) for bound in wilson_interval(8, 10)]
    [0.4902, 0.9433]
    """
    if total == 0:
        return 0.0, 1.0
    ratio = correct / total
    spread = z * math.sqrt(ratio * (1 - ratio) / total + z * z / (4 * total * total))
    centre = ratio + z * z / (2 * total)
    scale = 1 + z * z / total
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)


def difference_interval(first: tuple[int, int], second: tuple[int, int], z: float = Z_95) -> tuple[float, float]:
    """Lower and upper bound of the first proportion minus the second; each is given as (correct, total).

    R. G. Newcombe, "Interval estimation for the difference between independent proportions: comparison of eleven
    methods", Statistics in Medicine 17 (1998), 873-890, method 10: two Wilson intervals put together.

    >>> [round(bound, 4) for bound in difference_interval((56, 70), (48, 80))]  # the paper's table II, row a
    [0.0524, 0.3339]
    """
    (first_low, first_high), (second_low, second_high) = wilson_interval(*first, z), wilson_interval(*second, z)
    first_ratio, second_ratio = (correct / total for correct, total in (first, second))
    below = math.hypot(first_ratio - first_low, second_high - second_ratio)
    above = math.hypot(first_high - first_ratio, second_ratio - second_low)
    return first_ratio - second_ratio - below, first_ratio - second_ratio + above


def perplexity(loss: float) -> float:
    """The exponential of a mean cross-entropy in nats; infinite where it is too large to tell.

    >>> round(perplexity(math.log(257)), 1), perplexity(1e9)
    (257.0, inf)
    """
    try:
        return math.exp(loss)
    except OverflowError:
        return math.inf


def percentile(values: Sequence[float], percent: float) -> float:
    """The `percent` percentile (0 to 100) of at least one value, interpolated linearly between neighbours.

    Definition 7 of R. J. Hyndman and Y. Fan, "Sample quantiles in statistical packages" (1996); numpy's default.

    >>> percentile([4, 1, 3, 2], 50)
    2.5
    """
    ordered = sorted(values)
    position = (len(ordered) - 1) * percent / 100
    below = math.floor(position)
    above = math.ceil(position)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def smooth(values: Sequence[float], weight: float = 0.9) -> list[float]:
    """Exponential moving average of `values`, unbiased at the start; `weight` (0 to 1) is what the past keeps.

    A value that is not finite stays as it is (a gap in the curve) and does not enter the average. The start is
    corrected as in D. P. Kingma and J. Ba, "Adam" (2015), section 3.

    >>> smooth([1.0, 1.0, 4.0], weight=0.5)
    [1.0, 1.0, 2.7142857142857144]
    """
    smoothed: list[float] = []
    average, seen = 0.0, 0
    for value in values:
        if not math.isfinite(value):
            smoothed.append(value)
            continue
        seen += 1
        average = weight * average + (1 - weight) * value
        smoothed.append(average / (1 - weight**seen))
    return smoothed


def median_interval(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float, float]:
    """Lower and upper bound of the median, and how surely (0 to 1) they hold it; for at least one value.

    The narrowest pair of order statistics, as far from either end, that reaches `confidence`; with fewer than six
    values none does, and the whole range is given with what it reaches. No distribution is assumed.
    H. A. David and H. N. Nagaraja, "Order Statistics" (2003), section 7.1.

    >>> median_interval([5, 1, 9, 3, 7, 2, 8, 4, 6])
    (2, 8, 0.9609375)
    >>> median_interval([1, 2, 3])
    (1, 3, 0.75)
    """
    ordered = sorted(values)
    total, outside = len(ordered), 0
    below = [sum(math.comb(total, hits) for hits in range(rank + 1)) / 2**total for rank in range(total // 2)]
    # below[rank]: probability that the median lies below the value number `rank` (0-based).
    while outside + 1 < len(below) and 1 - 2 * below[outside + 1] >= confidence:
        outside += 1
    reached = 1 - 2 * below[outside] if below else 0.0
    return ordered[outside], ordered[total - 1 - outside], reached
