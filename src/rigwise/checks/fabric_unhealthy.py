"""A GPU's way through the NVSwitch fabric is damaged.

What: a GPU that joined its NVLink fabric, but whose routes or links through the switches do not all work.
Why: work on several GPUs hangs or fails on that route, or runs at a part of the bandwidth, while each GPU by itself is
fine.
How to tell: the fabric health of `nvidia-smi -q`: Healthy, Unhealthy or Limited Capacity; drivers that give no summary
say Full or Degraded of the bandwidth.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem, Severity
from rigwise.records.gpu import Gpu
from rigwise.records.rig import Rig
from rigwise.speech import say

HARM = {"unhealthy": None, "limited capacity": Severity.WARNING, "degraded": Severity.WARNING}
"""What is slower only is a warning."""


def check_gpu(gpu: Gpu, rig: Rig) -> Iterator[Problem]:
    """A problem in the driver's own words; a word it did not use before says nothing."""
    health = gpu.fabric_health.need()
    if health.lower() in HARM:
        because = say("The driver calls its NVLink fabric {health}.", health=health.lower())
        yield Problem(because, (gpu.fabric_health,), severity=HARM[health.lower()])
