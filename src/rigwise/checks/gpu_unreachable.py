"""The driver lists a GPU but cannot open it.

What: NVML counts the GPU and refuses a handle for another reason than "GPU is lost".
Why: nothing can run on it until the cause, which the return code names, is gone.
How to tell: the return code of nvmlDeviceGetHandleByIndex (nvmlReturn_t in nvml.h).
"""

from collections.abc import Iterator

from rigwise.records.evidence import Status
from rigwise.records.finding import Problem
from rigwise.records.rig import Gpu, Rig
from rigwise.speech import say


def check_rig(rig: Rig) -> Iterator[Problem]:
    """One problem for each GPU that cannot be opened."""
    rig.num_gpus.answered()
    for gpu in rig.gpus:
        if gpu.reachable.status is not Status.LOST and not gpu.reachable.answered():
            yield _problem(gpu)


def _problem(gpu: Gpu) -> Problem:
    match gpu.reachable.return_code:
        case 8:
            because = say("Its power cables are not attached properly.")
            steps: tuple[str, ...] = (say("power the machine off and seat both power plugs of the card"),)
        case 14:
            because = say("The card's own configuration memory (infoROM) is corrupted; this is a hardware defect.")
            steps = (say("ask the seller for a replacement"),)
        case 16:
            because = say("The GPU met an error that only a reset clears.")
            steps = (say("sudo nvidia-smi --gpu-reset -i {index}", index=gpu.index), say("or restart the machine"))
        case 4 | 17:
            because = say("This user, or this container, may not open it.")
            steps = (say("ls -l /dev/nvidia{index}", index=gpu.index),)
        case _:
            because = say("The driver could not start it; the kernel log usually says why.")
            steps = (say("sudo dmesg | grep NVRM"),)
    return Problem(because, (gpu.reachable,), next_steps=steps, target=gpu.label)
