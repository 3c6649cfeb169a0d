"""Narrower readings: the one line of a log, or the facts of one framework, that a check quotes."""

import re

import msgspec

from rigwise.records.evidence import Quote, Status
from rigwise.records.reading import Reading
from rigwise.records.software import Framework, Interpreter


def log_lines(log: Reading[tuple[str, ...]], pattern: str) -> tuple[Reading[str], ...]:
    """The lines of a log that match, oldest first; none where the log could not be read."""
    return tuple(
        Reading("kernel log", line, Status.OK, Quote(log.quote.source, line.strip()))
        for line in log.value_or(())
        if re.search(pattern, line)
    )


def framework_facts(interpreter: Reading[Interpreter], framework: Framework, *fields: str) -> Reading[Framework]:
    """One framework, quoted with the fields that matter as the probe printed them."""
    shown = ("name", "version", *fields)
    facts = ", ".join(f'"{field}": {msgspec.json.encode(getattr(framework, field)).decode()}' for field in shown)
    return Reading(framework.name, framework, Status.OK, Quote(interpreter.quote.source, facts))
