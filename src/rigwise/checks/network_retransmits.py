"""Much is sent twice over the network.

What: a notable share of the TCP segments had to be sent again.
Why: the path to the others loses packets: data sets, checkpoints and gradients that travel over it are slow.
How to tell: segments sent again against all segments since boot, so a note only.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.reading import lacking
from rigwise.records.rig import Rig
from rigwise.speech import say
from rigwise.units import percent

AGAIN_RATIO = 0.03
"""Our choice: wide-area paths see up to 1 %; above 3 % TCP's speed falls to a fraction (Mathis et al., 1997)."""
NUM_SENT = 100_000
"""Our choice: fewer tell of a single bad connection."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A note when the share is large."""
    reading = rig.network.tcp
    seen = reading.need()
    if seen.sent < NUM_SENT or seen.retransmitted < AGAIN_RATIO * seen.sent:
        return
    if seen.at_most:
        raise lacking(reading, "TCP segments sent")
    share = percent(seen.retransmitted / seen.sent)
    yield Problem(say("{share} of the TCP segments since boot were sent again.", share=share), (reading,))
