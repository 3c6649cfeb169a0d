"""The device file that CUDA needs is missing.

What: the driver lists a GPU and a framework finds none, and /dev/nvidia-uvm is not there.
Why: nvidia-smi needs only /dev/nvidiactl and /dev/nvidia0; CUDA also opens /dev/nvidia-uvm.
How to tell: the names in /dev. It appears with the first CUDA program, so without a failing one its absence is normal.
"""

from collections.abc import Iterator

from rigwise.records.excerpt import framework_facts, on_windows
from rigwise.records.finding import Problem
from rigwise.records.rig import Rig
from rigwise.speech import say

NEEDED = "nvidia-uvm"


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A problem when CUDA fails and its device file is missing. Not judged under WSL, which has another file."""
    rig.need_gpus()
    interpreter = rig.interpreter.need()
    failing = [one for one in interpreter.frameworks if one.cuda_available is False and one.cuda_build]
    if not failing or on_windows(rig):
        return
    if NEEDED not in rig.stack.device_files.need():
        because = say("The driver lists the GPU, but /dev/{file} is missing, which CUDA opens.", file=NEEDED)
        steps: tuple[str, ...] = ()
        if rig.host.container.value_or("none") != "none":
            steps = ("docker run --rm --gpus all ubuntu ls -l /dev/nvidia-uvm",)
        facts = framework_facts(rig.interpreter, failing[0], "cuda_available", "error")
        yield Problem(because, (rig.stack.device_files, facts), next_steps=steps)
