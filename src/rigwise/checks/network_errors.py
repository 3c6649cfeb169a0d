"""A network interface receives damaged packets.

What: a notable share of an interface's packets had errors.
Why: each damaged packet is sent again; data that comes over the network comes slowly. Mostly a cable, a connector or
a transceiver.
How to tell: the counters since boot, so a note only, and only for a large share of many packets.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.reading import lacking
from rigwise.records.rig import Rig
from rigwise.speech import say
from rigwise.units import percent

ERROR_RATIO = 0.001
"""Our choice: a healthy Ethernet link loses less than one packet in a billion (10^-12 bit errors, IEEE 802.3)."""
NUM_ERRORS = 1000
"""Our choice: fewer may all stem from the moment when a cable was plugged in."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A note for the worst interface."""
    reading = rig.network.interfaces
    counted = [(one, one.errors, one.packets) for one in reading.need()]
    known = [(errors / packets, errors, one.name) for one, errors, packets in counted if errors is not None and packets]
    if not known:
        raise lacking(reading, "network errors")
    share, errors, name = max(known)
    if share >= ERROR_RATIO and errors >= NUM_ERRORS:
        because = say(
            "{name}: {errors} damaged packets since boot, {share} of all.",
            name=name or say("network interface"),
            errors=errors,
            share=percent(share),
        )
        yield Problem(because, (reading,))
