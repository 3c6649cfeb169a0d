"""A file that should have been a picture."""

import msgspec


class BadPicture(msgspec.Struct, frozen=True, kw_only=True):
    """A file under DATA that is not a usable picture, and why."""

    path: str
    """Relative to DATA, printable."""
    reason: str
