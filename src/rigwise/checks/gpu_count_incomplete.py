"""The evidence shows fewer GPUs than the driver counts.

What: the driver counts more GPUs than the evidence describes, and none of them is reported lost.
Why: the log was cut before it was handed over; the missing GPUs are not judged, and must not be called healthy.
How to tell: `attached_gpus` against the `<gpu>` elements of `nvidia-smi -q -x`.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.rig import Rig
from rigwise.speech import say


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A problem when GPUs are counted but not described."""
    counted, shown = rig.num_gpus.need(), len(rig.gpus)
    if counted > shown:
        because = say("The driver counts {counted} GPUs; the evidence describes {shown}.", counted=counted, shown=shown)
        yield Problem(because, (rig.num_gpus,))
