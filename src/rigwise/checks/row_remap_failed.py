"""A GPU could not replace a failed row of its memory.

What: the card's row remapper reports that a remapping failed.
Why: the spare rows are used up or the repair did not hold; uncorrectable errors will come back.
How to tell: the failure flag of `nvidia-smi -q -d ROW_REMAPPER`, for which NVIDIA replaces a card whatever the
counters say.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.gpu import Gpu
from rigwise.records.rig import Rig
from rigwise.speech import say


def check_gpu(gpu: Gpu, rig: Rig) -> Iterator[Problem]:
    """A problem when a remapping failed."""
    errors = gpu.memory_errors
    if errors.row_remap_failure.need():
        because = say("Its memory has a failed row that could not be replaced by a spare one: the card is defective.")
        yield Problem(
            because, (errors.row_remap_failure, errors.remapped_rows_uncorrected, errors.uncorrected_volatile)
        )
