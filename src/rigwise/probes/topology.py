"""How GPUs, CPUs and PCIe bridges are connected."""

from rigwise.records.topology import Topology
from rigwise.sources.source import Source


def read_topology(source: Source) -> Topology:
    """The connections between GPUs and CPUs."""
    return Topology()
