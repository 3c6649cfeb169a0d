"""GPUDirect RDMA reports errors.

What: nvidia-peermem, or the older nv_peer_mem, reports an error such as an invalid context.
Why: the network card and the GPU no longer agree about memory: mostly a program ended while transfers were under way.
How to tell: lines of that module in the kernel log.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.kernel_events import EventKind, events_of
from rigwise.records.rig import Rig
from rigwise.speech import say


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A warning with the number of errors."""
    rig.kernel_log.need()
    errors = [event for event in events_of(rig.log_events.need(), EventKind.PEERMEM) if not event.past]
    if errors:
        because = say(
            "Errors of GPUDirect RDMA in this log: {count}; usually a program that used it ended early.",
            count=len(errors),
        )
        yield Problem(because, (errors[0].reading,))
