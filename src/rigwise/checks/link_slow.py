"""A network link runs slower than both ends can.

What: a link negotiated a tenth or less of what both ends offer, such as 100 Mb/s of 1,000, or half duplex.
Why: 100 Mb/s are 12 MB/s: data, images and checkpoints over the network take ten times as long. Nearly always a cable
with a broken pair, or one that is too long or too old for its speed.
How to tell: the negotiated speed against what both ends offer (ethtool). A link whose other end cannot do better, and
links that tell no speed (Wi-Fi, virtual machines), are left alone.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.host import Interface
from rigwise.records.reading import lacking
from rigwise.records.rig import Rig
from rigwise.speech import say

SLOW_FACTOR = 10
"""Ethernet's own steps (10, 100, 1,000, 10,000 Mb/s); less apart, a link may have been set so."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A warning for the first such link."""
    reading = rig.network.interfaces
    known = [one for one in reading.need() if one.mbit_per_second is not None and one.up is not False]
    if not known:
        raise lacking(reading, "speed of the network links")
    for one in known:
        because = _because(one)
        if because:
            yield Problem(because, (reading,), next_steps=(f"sudo ethtool {one.name}",) if one.name else ())
            return


def _because(one: Interface) -> str:
    speed, capable = one.mbit_per_second or 0, one.capable_mbit_per_second or 0
    if capable >= SLOW_FACTOR * speed:
        return say(
            "{name} runs at {speed} Mb/s; both ends offer {capable} Mb/s.",
            name=one.name,
            speed=speed,
            capable=capable,
        )
    if one.full_duplex is False:
        return say("{name} runs at {speed} Mb/s in half duplex.", name=one.name, speed=speed)
    return ""
