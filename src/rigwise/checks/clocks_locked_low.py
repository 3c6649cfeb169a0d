"""A busy GPU runs at low clocks for no reason that it gives.

What: under load the SM clock stays at half of the highest or less, and no event holds it back.
Why: somebody locked the clocks (nvidia-smi -lgc or -ac), or a laptop's power profile does; work takes twice as long.
How to tell: the SM clock against its maximum at the busiest moment. An idle GPU clocks down on purpose.
"""

from collections.abc import Iterator

from rigwise.knowledge.clock_event_reasons import ClockEventVerdict, reasons_in
from rigwise.records.finding import Problem
from rigwise.records.gpu import Gpu
from rigwise.records.rig import Rig
from rigwise.speech import say

BUSY_UTILIZATION_RATIO = 0.9
"""Our choice: below it the clock may rise and fall with the work."""
LOW_RATIO = 0.5
"""Our choice: a healthy card at its power limit stays above it; T4 and laptop cards do so too."""


def check_gpu(gpu: Gpu, rig: Rig) -> Iterator[Problem]:
    """A warning when the clocks are low under load."""
    if gpu.gpu_utilization_ratio.need() < BUSY_UTILIZATION_RATIO:
        return
    reasons = reasons_in(gpu.clocks_event_reasons.need())
    benign = all(reason.verdict is ClockEventVerdict.BENIGN for reason in reasons)
    if not benign or {"gpu_idle", "sw_power_cap"} & {reason.name for reason in reasons}:
        return
    now, highest = gpu.sm_clock_mhz.need(), gpu.sm_clock_max_mhz.need()
    if now < LOW_RATIO * highest:
        because = say("Busy, it runs at {now} MHz of at most {highest} MHz.", now=now, highest=highest)
        steps = (f"sudo nvidia-smi -i {gpu.index} -rgc   # takes a lock of the clocks away", "nvidia-smi -q -d CLOCK")
        yield Problem(because, (gpu.sm_clock_mhz, gpu.sm_clock_max_mhz, gpu.clocks_event_reasons), next_steps=steps)
