"""Which batch size is tried next. Pure arithmetic."""

from math import sqrt

GAP_RATIO = 1 / 8
"""Our choice: the search ends when the next size that may hold is less than an eighth larger; images per second differ
by less than they vary from run to run."""

FAR_TIMES = 4
"""Our choice: what failed began at a prediction, so the size that holds is likelier to be half of it than a tenth."""


def next_size(held: int, failed: int | None, most: int) -> int | None:
    """The size to try after `held` ran and `failed` did not; None when the gap is small enough.

    Never more than twice what ran: memory need not grow in a straight line.

    >>> next_size(32, None, 1000), next_size(32, None, 40), next_size(64, 128, 1000), next_size(96, 104, 1000)
    (64, 40, 96, None)
    """
    if failed is None:
        return min(2 * held, most) if held < most else None
    if failed - held <= max(1, held * GAP_RATIO):
        return None
    return failed // 2 if failed > FAR_TIMES * held else _roundest(held, failed)


def _roundest(held: int, failed: int) -> int:
    """Between the two, near their geometric mean, the size that most powers of two divide: such shapes run fastest.

    https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html
    """
    mean = sqrt(held * failed)
    near = range(max(held + 1, round(mean / sqrt(2))), min(failed - 1, round(mean * sqrt(2))) + 1)
    return max(near, key=lambda size: (size & -size, -abs(size - mean)))


def first_size(predicted: int | None, smallest: int, most: int) -> int:
    """Where to start: at the prediction, rounded down to a power of two; without one, at what is smallest.

    >>> first_size(100, 1, 1000), first_size(None, 2, 1000), first_size(5000, 1, 48)
    (64, 2, 48)
    """
    if predicted is None or predicted <= smallest:
        return smallest
    return most if predicted >= most else max(smallest, 1 << (predicted.bit_length() - 1))
