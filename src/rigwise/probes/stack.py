"""Toolkits, libraries and packages beside the frameworks."""

from rigwise.records.software import Stack
from rigwise.sources.source import Source


def read_stack(source: Source) -> Stack:
    """The software below the frameworks."""
    return Stack()
