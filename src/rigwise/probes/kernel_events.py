"""Events of the kernel log and the fabric manager's log."""

from rigwise.records.kernel_events import LogEvent
from rigwise.records.reading import Reading, not_asked
from rigwise.sources.source import Source


def read_log_events(source: Source, log: Reading[tuple[str, ...]]) -> Reading[tuple[LogEvent, ...]]:
    """What was reported, oldest first."""
    return not_asked("kernel log")
