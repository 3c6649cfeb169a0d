"""Active probes, bounded in time: only `--deep` asks them on a live machine; a recording answers what it holds."""

from rigwise.records.deep import DeepLook
from rigwise.sources.source import Source


def read_deep(source: Source, python: str | None) -> DeepLook:
    """What the active probes measured."""
    return DeepLook()
