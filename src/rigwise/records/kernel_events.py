"""What the kernel log and the fabric manager reported, one event per line that matters (T12)."""

import msgspec


class LogEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event of a log."""

    kind: str
    """`xid`, `sxid`, `fallen`, `aer`, `mce`, `oom`, `segfault`, `nvrm` ..."""
    code: int | None = None
    """Xid or SXid number."""
    address: str = ""
    """PCI address of the device, `0000:41:00`, or "" where the line names none."""
    seconds: float | None = None
    """Time on the log's own scale, to order and group events; None where the line has none."""
    line: str
    """The line as it was read."""
