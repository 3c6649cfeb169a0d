"""A GPU's PCIe link keeps sending packets again.

What: the counter of repeated PCIe packets rises fast while the GPU is at work.
Why: each repeat is a packet that arrived damaged: a riser, a dirty contact, or a slot at the edge of its speed. It
costs speed now, and ends in a card that falls off the bus.
How to tell: repeats per minute in the look under load of `rigwise check --deep`. The counter itself runs since the
driver was loaded and tells nothing: some repeats over weeks are normal.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.gpu import Gpu
from rigwise.records.rig import Rig
from rigwise.records.transfers import trial_of
from rigwise.speech import say
from rigwise.units import significant

HIGHEST_PER_MINUTE = 8
"""NVIDIA DCGM's own limit for its health watch (DCGM_FR_PCI_REPLAY_RATE)."""


def check_gpu(gpu: Gpu, rig: Rig) -> Iterator[Problem]:
    """A warning when packets are repeated more often than DCGM allows."""
    if gpu.pcie_replays.value == 0 and gpu.pcie_replays.answered():
        return
    measured = trial_of(gpu, rig.deep.transfers)
    load = measured.need().load
    if load is None or load.pcie_replays is None:
        return
    per_minute = load.pcie_replays * 60 / max(load.seconds, 1.0)
    if per_minute > HIGHEST_PER_MINUTE:
        because = say(
            "{count} packets were sent again in {seconds} s under load.",
            count=load.pcie_replays,
            seconds=significant(load.seconds),
        )
        yield Problem(because, (measured,))
