"""The machine drops packets it received.

What: a notable share of the received packets was dropped before any program saw it.
Why: dropped packets are sent again; data that comes over the network comes slowly.
How to tell: drops of the interfaces and of the kernel's receive queues, since boot, so a note only. Interfaces also
count packets that nobody here wanted; so a few percent mean nothing.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.reading import lacking
from rigwise.records.rig import Rig
from rigwise.speech import say
from rigwise.units import percent

DROP_RATIO = 0.1
"""Our choice: broadcasts for others and unknown protocols reach a few percent on a quiet machine."""
QUEUE_DROP_RATIO = 0.01
"""Our choice: the receive queues drop only what the CPUs are too slow for."""
NUM_PACKETS = 100_000


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A note for the receive queues or the worst interface."""
    queues = rig.network.receive_queues
    if queues.present:
        seen = queues.need()
        if seen.processed >= NUM_PACKETS and seen.dropped >= QUEUE_DROP_RATIO * seen.processed:
            share = percent(seen.dropped / (seen.processed + seen.dropped))
            yield Problem(say("The kernel's receive queues dropped {share} of all packets.", share=share), (queues,))
            return
        if not rig.network.interfaces.present:
            return
    reading = rig.network.interfaces
    counted = [(one.name, one.dropped, one.packets) for one in reading.need()]
    known = [(name, dropped, packets) for name, dropped, packets in counted if dropped is not None and packets]
    if not known:
        raise lacking(reading, "dropped packets")
    for name, dropped, packets in known:
        if packets >= NUM_PACKETS and dropped >= DROP_RATIO * packets:
            share = percent(dropped / packets)
            because = say("{name} dropped {share} of its packets since boot.", name=name, share=share)
            yield Problem(because, (reading,))
            return
