"""A program crashed inside a GPU library.

What: the kernel logged a crash (segmentation fault, protection fault, illegal instruction) inside CUDA, NCCL, cuDNN, a
framework or an RDMA library.
Why: a crash in a library is a mismatch or a bug of software far more often than a fault of the GPU.
How to tell: the kernel log names the program and the library. Crashes elsewhere are left alone.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.kernel_events import EventKind, events_of
from rigwise.records.rig import Rig
from rigwise.speech import say

NO_SUCH_INSTRUCTION = "invalid opcode"


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A warning that names programs and libraries."""
    rig.kernel_log.need()
    crashes = [event for event in events_of(rig.log_events.need(), EventKind.CRASH) if not event.past]
    if not crashes:
        return
    because = say(
        "{program} crashed inside {libraries}; crashes in this log: {count}. The fault is in software, not in the GPU.",
        program=", ".join(dict.fromkeys(event.process for event in crashes)),
        libraries=", ".join(dict.fromkeys(event.subject for event in crashes)),
        count=len(crashes),
    )
    lacking = any(NO_SUCH_INSTRUCTION in event.line for event in crashes)
    action = say("Install a build for this CPU: the library uses an instruction that it lacks.") if lacking else ""
    yield Problem(because, tuple(event.reading for event in crashes[:2]), action=action)
