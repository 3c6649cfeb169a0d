"""A script makes the CPU wait for the GPU again and again.

What: in a profile, a good part of the CPU time is spent in calls that wait for the GPU: `.item()`, copies to the CPU,
prints.
Why: while the CPU waits it launches nothing, so that the GPU runs dry right after.
How to tell: own CPU time of aten::item, aten::_local_scalar_dense, aten::nonzero and cudaStreamSynchronize at least a
fifth of the total (our choice), while the GPU is not busy all the time. cudaDeviceSynchronize is the profiler's own
and is not counted.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.rig import Rig
from rigwise.speech import say
from rigwise.units import percent

WAITS = ("aten::item", "aten::_local_scalar_dense", "aten::nonzero", "cudaStreamSynchronize", "cudaEventSynchronize")
MUCH = 0.2
BUSY = 0.9


def check_rig(rig: Rig) -> Iterator[Problem]:
    """One problem when waiting takes much of the CPU time."""
    profile = rig.profile.need()
    waited = profile.cpu_seconds_of(*WAITS)
    if profile.gpu_seconds is None or profile.gpu_seconds > BUSY * profile.cpu_seconds:
        return
    if waited > MUCH * profile.cpu_seconds:
        yield Problem(
            say(
                "{share} of the CPU time is spent waiting for the GPU, in {calls} calls such as {name}.",
                share=percent(waited / profile.cpu_seconds),
                calls=f"{profile.calls(*WAITS):,}",
                name=max((row for row in profile.rows if row.name in WAITS), key=lambda row: row.self_cpu_seconds).name,
            ),
            (rig.profile,),
        )
