"""Error texts in what programs printed and in the kernel log, recognised by knowledge/signatures."""

import re
from collections import deque

from rigwise.knowledge.signatures import Recognised, Signature, signatures, words_of
from rigwise.probes.answers import parsed
from rigwise.probes.programs.allocation_failures import allocation_failures, shows_work
from rigwise.probes.programs.quoting import quoted
from rigwise.probes.programs.unbroken import unbroken
from rigwise.probes.programs.whole_cells import whole_cells
from rigwise.records.evidence import Quote, Status
from rigwise.records.reading import Reading
from rigwise.records.software import Interpreter
from rigwise.records.told import AllocationFailure, Told
from rigwise.sources.source import Source

_TOO_OLD = re.compile(r"driver\s+on\s+your\s+system\s+is\s+too\s+old\s+\(found\s+version\s+(\d{4,6})\)")
_NAMED_DRIVER = re.compile(
    r"\b(?:nvidia|cuda)\b[^\n]{0,40}?\bdriver(?:[ _]version)?[ `*:=(\uff1a]{1,6}(\d{3}\.\d{2,3}(?:\.\d{2})?)\b",
    re.IGNORECASE,
)
_BROKE_OFF = re.compile(
    r"^(?:\[[\w.: -]{1,40}\][ :]{1,3})?[A-Za-z_][\w.]{0,80}(?:Error|Exception)(?:: |[ \t]*$)"
    r"|Segmentation fault|[Cc]ore dumped|Fatal Python error"
    r"|\b(?:hangs?|hanging|gets? stuck|got stuck|freezes)\b",
    re.MULTILINE,
)
LOOKED_AT = 2**20
"""Characters from the beginning in which a failure is looked for; a longer log is no report of one."""
NAMED_WITHIN = 2**20
"""Characters from the beginning of a report in which the driver is looked for; a long log names none."""
_STRAIGHT = str.maketrans("\u2018\u2019\u201c\u201d\u00a0", "''\"\" ")
"""Quotation marks and spaces that web pages and word processors put in place of plain ones."""


def read_program_output(source: Source) -> Reading[str]:
    """What programs printed. It is quoted line by line, so the reading itself quotes only its length."""
    evidence = source.program_output()
    num_lines = f"{len(evidence.text.splitlines())} lines"
    return parsed("program output", evidence, lambda _text: whole_cells(unbroken(evidence.text)), num_lines)


def read_allocation_failures(output: Reading[str]) -> Reading[tuple[AllocationFailure, ...]]:
    """Every request for VRAM of which a program printed that it failed; none, where a program was seen at work.

    A text without either, such as a question or another program's table, tells nothing of VRAM.
    """
    name = "output of a program at work"
    if output.value is None:
        return Reading(name, None, output.status, output.quote)
    found = allocation_failures(output.value, output.quote.source)
    if not found and not shows_work(output.value):
        return Reading(name, None, Status.NOT_RECORDED, output.quote)
    return Reading(name, found, output.status, found[0].quote if found else output.quote)


def read_broke_off(output: Reading[str]) -> Reading[str]:
    """The last line in which a program says that it broke off, or somebody that it hangs."""
    name, text = "failure that a program printed", output.value_or("")[:LOOKED_AT]
    last = deque(_BROKE_OFF.finditer(text), maxlen=1)
    if not last:
        return Reading(name, None, Status.NOT_RECORDED, output.quote)
    line = quoted(text, last[0].start(), last[0].end())
    return Reading(name, line, Status.OK, Quote(output.quote.source, line))


def read_refused_cuda(output: Reading[str]) -> Reading[tuple[int, int]]:
    """The highest CUDA of the driver, where a program printed that this is too old."""
    name, found = "CUDA version of the driver", _TOO_OLD.search(output.value_or(""))
    if found is None:
        return Reading(name, None, Status.NOT_RECORDED, output.quote)
    quote = Quote(output.quote.source, quoted(output.value_or(""), found.start(), found.end()))
    return Reading(name, (int(found[1]) // 1000, int(found[1]) % 1000 // 10), Status.OK, quote)


def read_named_driver(output: Reading[str]) -> Reading[str]:
    """The driver's version, where a line names it as NVIDIA's."""
    name, found = "driver version", _NAMED_DRIVER.search(output.value_or(""), 0, NAMED_WITHIN)
    if found is None:
        return Reading(name, None, Status.NOT_RECORDED, output.quote)
    quote = Quote(output.quote.source, quoted(output.value_or(""), found.start(), found.end()))
    return Reading(name, found[1], Status.OK, quote)


def read_told(output: Reading[str], kernel_log: Reading[tuple[str, ...]]) -> tuple[Told, ...]:
    """Every recognised error text, in the order in which the texts hold them; each signature once."""
    texts = {
        "program": (output.quote.source, output.value_or("")),
        "kernel": (kernel_log.quote.source, "\n".join(kernel_log.value_or(()))),
    }
    return tuple(told for where, (origin, text) in texts.items() for told in _told(where, origin, text))


def read_told_by_frameworks(interpreter: Reading[Interpreter]) -> tuple[Told, ...]:
    """The error texts among what the user's frameworks answered when they were asked for the GPU."""
    errors = [framework.error for framework in interpreter.value.frameworks] if interpreter.value else []
    return tuple(told for error in errors for told in _told("program", interpreter.quote.source, error))


def _told(where: str, origin: str, text: str) -> list[Told]:
    plain = text.translate(_STRAIGHT)
    words = words_of(plain)
    possible = [signature for signature in signatures() if signature.where == where and signature.may_be_in(words)]
    found = [(place.start, signature, place) for signature in possible if (place := signature.search(plain))]
    found.sort(key=lambda each: each[0])
    return [
        _one(signature, Quote(origin, quoted(text, place.start, place.end)), place)
        for _start, signature, place in found
    ]


def _one(signature: Signature, quote: Quote, place: Recognised) -> Told:
    return Told(
        signature=signature.id,
        check=signature.check,
        quote=quote,
        meaning=signature.means(place.values),
        action=signature.action,
        next_steps=signature.next_steps,
        mends=signature.mends,
        where=signature.where,
        severity=signature.severity,
    )
