"""How busy the CPUs are, from /proc or pasted mpstat, top and vmstat."""

from rigwise.records.host import Cpu
from rigwise.sources.source import Source


def read_cpu(source: Source) -> Cpu:
    """Load and limits of the CPUs."""
    return Cpu()
