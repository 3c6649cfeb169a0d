"""Whether memory grows from step to step: a leak, told from noise, from one jump and from buffers that fill up."""

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from rigwise.records.batch import Growth

SETTLING_STEPS = 3
"""Left out: gradients and optimiser state are taken in the first steps."""
NUM_WINDOWS = 4
FEWEST_STEPS = 3 * NUM_WINDOWS
"""Our choice: three steps a window, so that its median ignores one odd step."""
STEADY_RATIO = 0.5
"""Our choice: the slowest window of a leak grows at least half as fast as the fastest. A buffer that grows with the
largest sample so far slows down: its fourth window grows a third as fast as its first (log 7/5 to log 3)."""
LEAST_KEPT_BYTES = 2**20
"""Our choice: a run validates some fifty times; what is below 1 MiB each time adds up to nothing that matters."""
LEAST_BYTES_PER_STEP = 64 * 2**10
"""Our choice: below 64 KiB a step, 10,000 steps lose 0.6 GiB at most; losses kept as numbers stay far below it."""


def memory_growth(allocated_bytes: Sequence[int], free_bytes: int | None) -> Growth | None:
    """How memory grows per step when it grows steadily; None when it does not.

    Four windows of equal length: their medians must rise from each to the next, the least rise at least half the most.

    Args:
        allocated_bytes: in use at the end of each step, the first step first.
        free_bytes: of the memory before the first step; gives the step at which nothing is left.

    >>> leak = memory_growth([1000 * 2**20 + step * 5 * 2**20 for step in range(40)], free_bytes=2000 * 2**20)
    >>> leak.bytes_per_step / 2**20, leak.step_of_death
    (5.0, 201)
    >>> memory_growth([1000 * 2**20] * 20 + [2000 * 2**20] * 20, free_bytes=None)
    """
    settled = allocated_bytes[SETTLING_STEPS:]
    if len(settled) < FEWEST_STEPS:
        return None
    length = len(settled) // NUM_WINDOWS
    last = settled[len(settled) - NUM_WINDOWS * length :]
    medians = [median(last[start : start + length]) for start in range(0, len(last), length)]
    rises = [(later - earlier) / length for earlier, later in pairwise(medians)]
    rate = (medians[-1] - medians[0]) / (length * (NUM_WINDOWS - 1))
    if min(rises) <= 0 or min(rises) < STEADY_RATIO * max(rises) or rate < LEAST_BYTES_PER_STEP:
        return None
    left = None if free_bytes is None else free_bytes - allocated_bytes[-1]
    death = None if left is None else len(allocated_bytes) + max(0, int(left / rate))
    return Growth(bytes_per_step=rate, step_of_death=death)


def kept_by_validation(kept_bytes: Sequence[int], *, has_failed_again: bool) -> int:
    """What each validation leaves behind, in bytes; 0 where nothing stays, or only the first time.

    Args:
        kept_bytes: how much more was in use after each validation than before it.
        has_failed_again: whether one did not fit that had fitted before: then what the first one left is known alone.

    >>> kept_by_validation([8 * 2**20, 8 * 2**20], has_failed_again=False) // 2**20
    8
    >>> kept_by_validation([8 * 2**20, 0], has_failed_again=False)  # buffers that are made once
    0
    """
    least = min(kept_bytes, default=0)
    if len(kept_bytes) < 2 and not has_failed_again:
        return 0
    return least if least >= max(LEAST_KEPT_BYTES, STEADY_RATIO * max(kept_bytes, default=0)) else 0
