"""A GPU in MIG mode has no slice that a program could use.

What: MIG is on, and no MIG device was made.
Why: in MIG mode programs can use slices only; with none, CUDA sees no device although nvidia-smi shows the GPU.
How to tell: MIG mode, and the list of MIG devices of `nvidia-smi` or `nvidia-smi -q -x`.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.gpu import Gpu
from rigwise.records.rig import Rig
from rigwise.speech import say


def check_gpu(gpu: Gpu, rig: Rig) -> Iterator[Problem]:
    """A problem when MIG is on without a slice."""
    if gpu.mig_enabled.need() and gpu.num_mig_devices.need() == 0:
        because = say("MIG is on and no MIG device was made: programs see no GPU.")
        yield Problem(because, (gpu.mig_enabled, gpu.num_mig_devices))
