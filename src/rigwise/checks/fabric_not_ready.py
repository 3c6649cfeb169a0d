"""The NVSwitch fabric of this machine is not ready.

What: a GPU that belongs to an NVLink fabric has not joined it.
Why: until it has, CUDA refuses to start (error 802, system not yet initialized).
How to tell: the fabric state of `nvidia-smi -q`: Completed when it is ready, N/A where there is no fabric.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem, Severity
from rigwise.records.gpu import Gpu
from rigwise.records.rig import Rig
from rigwise.speech import say

WAITING = frozenset({"in progress", "not started"})


def check_gpu(gpu: Gpu, rig: Rig) -> Iterator[Problem]:
    """A problem when the GPU waits for its fabric; a machine with one GPU may be without one on purpose."""
    state = gpu.fabric_state.need()
    if state.lower() in WAITING:
        because = say("It waits for its NVLink fabric (state: {state}); CUDA does not start before.", state=state)
        severity = Severity.WARNING if rig.num_gpus.value == 1 else None
        yield Problem(because, (gpu.fabric_state,), severity=severity)
