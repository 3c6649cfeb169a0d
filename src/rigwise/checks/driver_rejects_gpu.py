"""The driver refuses the GPU.

What: the kernel log holds the driver's own statement that it does not support this card, or only as open modules.
Why: each driver branch drops old chips; Blackwell and later need the open kernel modules, chips before Turing the
closed ones.
How to tell: NVRM lines of the kernel log (source text: NVIDIA open-gpu-kernel-modules, kernel-open/nvidia).
"""

from collections.abc import Iterator

from rigwise.records.excerpt import log_lines
from rigwise.records.finding import Problem
from rigwise.records.rig import Rig
from rigwise.speech import say

REFUSAL = r"NVRM:.*(is not supported by|not supported by the|Legacy drivers|requires use of the NVIDIA open kernel)"


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A problem when no GPU is listed and the driver says why."""
    if rig.lists_gpus():
        return
    rig.kernel_log.need()
    lines = log_lines(rig.kernel_log, REFUSAL)
    if lines:
        because = say("This card needs another driver: a newer or older branch, or the other kind of module.")
        yield Problem(because, lines[-3:])
