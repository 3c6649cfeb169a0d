"""The driver lists a GPU but cannot open it.

What: NVML counts the GPU and refuses a handle for another reason than "GPU is lost".
Why: nothing can run on it until the cause, which the return code names, is gone.
How to tell: the return code of nvmlDeviceGetHandleByIndex (nvmlReturn_t in nvml.h).
"""

from collections.abc import Iterator

from rigwise.records.evidence import Status
from rigwise.records.finding import Problem
from rigwise.records.gpu import Gpu
from rigwise.records.rig import Rig
from rigwise.speech import say


def check_rig(rig: Rig) -> Iterator[Problem]:
    """One problem for each GPU that cannot be opened."""
    rig.num_gpus.answered()
    for gpu in rig.gpus:
        if gpu.reachable.status is not Status.LOST and not gpu.reachable.answered():
            yield _problem(gpu)


def _problem(gpu: Gpu) -> Problem:
    action = ""
    steps: tuple[str, ...] = ()
    match gpu.reachable.return_code:
        case 8:
            because = say("Its power cables are not attached properly.")
            action = say("Power the machine off and seat both power plugs of the card.")
            steps = ("rigwise check --only gpu_unreachable",)
        case 14:
            because = say("The card's own configuration memory (infoROM) is corrupted; this is a hardware defect.")
            action = say("Ask the seller for a replacement, with a report of the driver.")
            steps = ("sudo nvidia-bug-report.sh",)
        case 16:
            because = say("The GPU met an error that only a reset clears.")
            action = say("Reset the GPU, or restart the machine.")
            steps = (f"sudo nvidia-smi --gpu-reset -i {gpu.index}",)
        case 4 | 17:
            because = say("This user, or this container, may not open it.")
            action = say("Give this user, or this container, the device file.")
            steps = (f"ls -l /dev/nvidia{gpu.index}",)
        case _:
            because = say("The driver could not start it; the kernel log usually says why.")
    return Problem(because, (gpu.reachable,), next_steps=steps, target=gpu.label, action=action)
