"""An NVLink has had many errors.

What: the error counters of a link are far above those of a sound one, or a link could not be brought back.
Why: a link that keeps recovering slows every collective operation, and often is the one that fails next.
How to tell: the counters of `nvidia-smi nvlink -e`, which run since the driver was loaded; a few are normal, so only
large numbers are told, as a note. A recovery that failed is a warning.
"""

from collections.abc import Iterator

from rigwise.records.evidence import Quote, Status
from rigwise.records.finding import Problem, Severity
from rigwise.records.reading import Reading
from rigwise.records.rig import Rig
from rigwise.records.topology import LinkErrors
from rigwise.speech import say

FAILED = "recovery failed"
LIMITS = {"recovery": 100}
"""Recoveries; marin-community/marin#9086: 505 on the one link of 5,760 that failed five days later, none on others."""
OTHER_LIMIT = 10_000
"""Our choice, for repeats and damaged packets, which a sound link counts too."""
HARMLESS = frozenset({"effective", "symbol"})
"""Counted before the link's own correction; they grow on every link of NVLink 5."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A warning for a failed recovery, a note for a counter beyond its limit."""
    if rig.has_one_gpu() and not rig.topology.nvlink_errors.present:
        return
    for link in rig.topology.nvlink_errors.need():
        worst = [(name, count) for name, count in link.counts.items() if _is_many(name, count)]
        if worst:
            because = say(
                "Link {link} has counted since the driver was loaded: {counts}.",
                link=link.link,
                counts=", ".join(f"{name} {count}" for name, count in worst),
            )
            severity = None if link.counts.get(FAILED) else Severity.NOTE
            yield Problem(because, (_quoted(link, rig),), target=f"GPU {link.gpu}", severity=severity)


def _is_many(name: str, count: int) -> bool:
    if name == FAILED:
        return count > 0
    return name not in HARMLESS and count >= LIMITS.get(name, OTHER_LIMIT)


def _quoted(link: LinkErrors, rig: Rig) -> Reading[LinkErrors]:
    source = rig.topology.nvlink_errors.quote.source
    lines = [f"Link {link.link}: {name}: {count}" for name, count in link.counts.items()]
    return Reading("NVLink error counters", link, Status.OK, Quote(source, "\n".join((f"GPU {link.gpu}", *lines))))
