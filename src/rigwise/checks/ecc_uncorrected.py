"""A GPU's memory returned wrong data.

What: uncorrected ECC errors: since the driver was loaded, or earlier in the card's life.
Why: the program that met one was ended or computed with wrong numbers; more may come until the memory is repaired.
How to tell: the volatile counter, which a restart or reset clears. The lifetime counter alone tells of errors that are
past, usually with a repair since, and is no more than a note.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem, Severity
from rigwise.records.gpu import Gpu
from rigwise.records.rig import Rig
from rigwise.speech import say


def check_gpu(gpu: Gpu, rig: Rig) -> Iterator[Problem]:
    """Serious for errors since boot; a note for older ones."""
    errors = gpu.memory_errors
    since_boot, in_all = errors.uncorrected_volatile.need(), errors.uncorrected_aggregate
    if since_boot:
        because = say("{count} uncorrected memory errors since the driver was loaded.", count=since_boot)
        yield Problem(because, (errors.uncorrected_volatile, errors.row_remap_pending, in_all))
    elif in_all.value:
        because = say(
            "{count} uncorrected memory errors in the card's life, none since the driver was loaded.",
            count=in_all.value,
        )
        action = say("Keep an eye on it: replace the card if new ones come.")
        yield Problem(because, (in_all, errors.uncorrected_volatile), severity=Severity.NOTE, action=action)
