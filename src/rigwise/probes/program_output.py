"""Error texts in what programs printed and in the kernel log, recognised by knowledge/signatures."""

from rigwise.knowledge.signatures import signatures
from rigwise.probes.answers import parsed
from rigwise.records.evidence import Quote
from rigwise.records.reading import Reading
from rigwise.records.told import Told
from rigwise.sources.source import Source


def read_program_output(source: Source) -> Reading[str]:
    """What programs printed. It is quoted line by line, so the reading itself quotes only its length."""
    evidence = source.program_output()
    return parsed("program output", evidence, lambda _text: evidence.text, f"{len(evidence.text.splitlines())} lines")


def read_told(output: Reading[str], kernel_log: Reading[tuple[str, ...]]) -> tuple[Told, ...]:
    """Every recognised error text, in the order of the table; each signature once."""
    texts = {
        "program": (output.quote.source, output.value_or("")),
        "kernel": (kernel_log.quote.source, "\n".join(kernel_log.value_or(()))),
    }
    found = []
    for signature in signatures():
        origin, text = texts[signature.where]
        match = signature.search(text)
        if match:
            found.append(
                Told(
                    signature=signature.id,
                    check=signature.check,
                    quote=Quote(origin, match),
                    meaning=signature.meaning,
                    action=signature.action,
                    next_steps=signature.next_steps,
                )
            )
    return tuple(found)
