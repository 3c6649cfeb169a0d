"""Whether the GPUs of a rig wait for the host, as far as the evidence tells."""

from rigwise.records.evidence import Status
from rigwise.records.rig import Rig

BUSY_RATIO = 0.7
"""Our choice: a GPU that is busy for longer than this is not what a slow host holds up most."""


def gpus_may_wait(rig: Rig) -> bool:
    """Whether some GPU that computes has little to do.

    True where the evidence is not about GPUs at all: then the host is judged alone.
    """
    if not rig.gpus:
        return rig.num_gpus.status is Status.NOT_RECORDED
    return any(
        gpu.gpu_utilization_ratio.value_or(0.0) < BUSY_RATIO
        and (not gpu.processes.present or any(one.kind == "compute" for one in gpu.processes.need()))
        for gpu in rig.gpus
    )
