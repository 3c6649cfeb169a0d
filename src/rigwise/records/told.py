"""Error texts that were recognised in what programs printed."""

import msgspec

from rigwise.records.evidence import Quote


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """One error text that a row of knowledge/signatures recognises."""

    signature: str
    """The row's id."""
    check: str
    """The check whose fault it is evidence for."""
    quote: Quote
    """The line or lines, and where they were read."""
    meaning: str
    """What the text means here, its numbers used."""
    action: str
    next_steps: tuple[str, ...] = ()
    target: str = ""
    """The GPU it names, or ""."""
