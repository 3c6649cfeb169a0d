"""What changed between two looks at machines."""

from enum import StrEnum

import msgspec

from rigwise.records.identity import Fact

DIFF_SCHEMA = "rigwise.diff/1"


class Kind(StrEnum):
    """What sort of thing changed, most relevant first."""

    FINDING = "finding"
    """A problem appeared or went."""
    GPU = "gpu"
    """A GPU was added, removed or swapped."""
    STACK = "stack"
    """Driver, CUDA, kernel, OS, BIOS, Python, a framework."""
    SETTING = "setting"
    """Something a person sets: a power limit, a mode, a slot."""
    COUNTER = "counter"
    """A count that ought to stand still, such as uncorrected memory errors."""
    PACKAGE = "package"
    """A package of the user's Python."""
    MOMENT = "moment"
    """What changes all the time; alone, it is no change of the machine."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is not as it was."""

    kind: Kind
    key: str
    """Stable: `driver`, `power_limit_enforced_watts`, `torch`; of a finding, the check."""
    what: str
    """In words."""
    target: str
    """The GPU or `rig`."""
    before: Fact
    """None where it was not there."""
    after: Fact
    """None where it is no longer there."""
    words: str
    """Both as people read them, with their units: `450 W -> 380 W`, `appeared`."""


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """What `rigwise diff --json` prints."""

    schema: str = DIFF_SCHEMA
    before: str
    """Where the first look was read from."""
    after: str
    changed: bool
    """Whether anything but moments changed."""
    changes: tuple[Change, ...]
    """Most relevant first."""
    num_equal: int
    """Facts that both tell, and tell alike."""
    only_before: tuple[str, ...] = ()
    """Keys that only the first look tells."""
    only_after: tuple[str, ...] = ()
