"""The kernel log as lines, oldest first."""

from rigwise.probes.answers import parsed
from rigwise.records.reading import Reading
from rigwise.sources.source import Source


def read_kernel_log(source: Source) -> Reading[tuple[str, ...]]:
    """Every line of the kernel log. It is quoted line by line, so the reading itself quotes only its length."""
    evidence = source.kernel_log()
    lines = tuple(evidence.text.splitlines())
    return parsed("kernel log", evidence, lambda _text: lines, f"{len(lines)} lines")
