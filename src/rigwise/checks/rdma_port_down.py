"""A port for RDMA is down, where its neighbours work, or no port works at all.

What: a few InfiniBand or RoCE ports are down among several of the same kind that work; or every port is; or a link is
up, and no subnet manager has taken it into the InfiniBand network.
Why: NCCL spreads its work over all ports of a kind; with one of them missing, jobs on several machines hang, fail or
lose that share of the bandwidth.
How to tell: the states of ibstat. Ports of a kind that mostly are down are not in use here, and left
alone while others work.
"""

from collections import Counter
from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.host import RdmaPort
from rigwise.records.rig import Rig
from rigwise.speech import say

ACTIVE, DOWN, INITIALIZING = "active", "down", "initializing"
TIMES_AS_MANY = 2
"""Our choice: ports are meant to work when this many times as many of their kind do."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A warning that names the ports."""
    reading = rig.network.rdma_ports
    ports = reading.need()
    waiting = [port for port in ports if port.state == INITIALIZING and port.link_layer == "infiniband"]
    missing = [port for port in ports if port.state == DOWN and _is_meant_to_work(port, ports)]
    if all(port.state == DOWN for port in ports):
        because = say("None of them works: {ports}.", ports=", ".join(map(_named, ports)))
        yield Problem(because, (reading,))
    elif missing:
        because = say("Down, while others of the same kind work: {ports}.", ports=", ".join(map(_named, missing)))
        yield Problem(because, (reading,))
    elif waiting:
        because = say("Linked, but no subnet manager has set them up: {ports}.", ports=", ".join(map(_named, waiting)))
        yield Problem(
            because, (reading,), action=say("Start the subnet manager, on the switch or as opensm on one node.")
        )


def _is_meant_to_work(port: RdmaPort, ports: tuple[RdmaPort, ...]) -> bool:
    states = Counter(one.state for one in ports if (one.model, one.link_layer) == (port.model, port.link_layer))
    return states[ACTIVE] > TIMES_AS_MANY * states[DOWN]


def _named(port: RdmaPort) -> str:
    return f"{port.adapter}/{port.port} ({port.physical_state or port.state})"
