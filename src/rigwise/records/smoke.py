"""The chain of proofs that one batch works, link by link."""

import msgspec

SMOKE_SCHEMA = "rigwise.smoke/1"


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """One proof: what was asked, whether it held, and what was measured."""

    name: str
    ok: bool | None
    """None: not reached, since an earlier link broke."""
    text: str


class SmokeReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `rigwise smoke --json` prints."""

    schema: str = SMOKE_SCHEMA
    links: tuple[Link, ...]
    next_step: str
    proved: str = ""
    """What it means that every link holds, in words; "" that one batch works on both devices."""

    @property
    def first_broken(self) -> Link | None:
        """The first link that does not hold, or None."""
        return next((link for link in self.links if link.ok is False), None)
