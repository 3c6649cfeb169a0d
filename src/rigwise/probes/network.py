"""Network interfaces, from /proc and /sys or pasted ip and ethtool."""

from rigwise.records.host import Network
from rigwise.sources.source import Source


def read_network(source: Source) -> Network:
    """The network interfaces."""
    return Network()
