"""Opening small files takes long.

What: few small files per second can be opened and read.
Why: a data set of single pictures or texts is a storm of small requests; the GPU waits for their number, not their
size.
How to tell: the active probe of `--deep` opens and reads files of 4 KiB whose content is not in the page cache.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem, Severity
from rigwise.records.reading import lacking
from rigwise.records.rig import Rig
from rigwise.speech import say
from rigwise.units import significant

FEW_PER_SECOND = 1000.0
"""Our choice: a model of ResNet-50's size trains on 1,000 and more pictures per second on one current GPU."""
VERY_FEW_PER_SECOND = 200.0
"""Our choice: about what a rotating disk gives."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A note, or a warning where there are very few."""
    reading = rig.deep.disk_speed
    count = reading.need().opens_per_second
    if count is None:
        raise lacking(reading, "small files opened per second")
    if count < FEW_PER_SECOND:
        because = say("One process opens and reads {count} small files per second here.", count=significant(count))
        yield Problem(because, (reading,), severity=Severity.WARNING if count < VERY_FEW_PER_SECOND else None)
