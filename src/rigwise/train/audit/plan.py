"""How an audit is to be done. Imports nothing heavy: the command line names these values in its help."""

import msgspec

from rigwise.records.review import Review

SAMPLE = 5000
"""Pictures looked at unless told otherwise: minutes, not hours, for any set; comparing pairs grows with the square."""


class AuditPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How to audit."""

    sample: int = SAMPLE
    """Pictures to look at; 0 for all."""
    labels: bool = True
    """Whether to judge labels, which needs torch and takes most of the time."""
    image_size: int = 224
    """Pixels at which the network looks at each picture."""
    review: Review = Review()
    """What a person said before."""
