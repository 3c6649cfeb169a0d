"""Every two GPUs are on different CPU sockets.

What: no two GPUs share a CPU; all copies between them cross the connection between the sockets.
Why: that path is slower than a common PCIe root, and often without direct copies at all.
How to tell: `SYS` between every two GPUs in `nvidia-smi topo -m`, and different NUMA nodes beside them.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.rig import Rig
from rigwise.records.topology import ACROSS_SOCKETS
from rigwise.speech import say

FAR = frozenset({ACROSS_SOCKETS, "SOC"})


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A note when no two GPUs are near each other."""
    if rig.has_one_gpu():
        return
    matrix = rig.topology.matrix.need()
    pairs, nodes = list(matrix.pairs()), [matrix.numa_affinity.get(gpu) for gpu in matrix.gpus]
    apart = len(set(nodes)) == len(nodes) and None not in nodes
    if pairs and apart and all(cell in FAR for _, _, cell in pairs):
        because = say("No two of the {count} GPUs share a CPU socket.", count=len(matrix.gpus))
        yield Problem(because, (rig.topology.matrix,))
