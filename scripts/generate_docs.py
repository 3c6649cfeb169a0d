"""Writes docs/checks.md from the catalogue of checks and their own words. `--check` only says whether it is up to date.

python scripts/generate_docs.py [--check]
"""

import importlib
import inspect
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from rigwise.knowledge.check_catalogue import CheckRow, check_catalogue
from rigwise.knowledge.signatures import signatures

PAGE = Path(__file__).resolve().parents[1] / "docs" / "checks.md"
HEAD = """# Checks

What `rigwise check` looks for, {count} faults, most trusted first: a fault further up explains the symptoms it brings
further down, so the first problem is the one to solve. Each check answers *ok*, *problem* or *unknown*; a value that
could not be read never counts as ok. Run a single one with `rigwise check --only ID`.

- **serious**: stop, solve this first.
- **warning**: go on with care.
- **note**: worth knowing; the decision stays go.

Commands are shown, never run. This page is made by `make docs`; its words stand in `src/rigwise/knowledge/checks/`
and in the modules under `src/rigwise/checks/`.
"""
SHOWN_TEXTS = 6
"""Error texts shown for a check; some have dozens."""
PART = re.compile(r"^(What|Why|How to tell): ", re.MULTILINE)


def page() -> str:
    """The whole page."""
    catalogue = check_catalogue()
    sections = [section(check, row) for check, row in catalogue.items()]
    return "\n".join([HEAD.format(count=len(catalogue)), *contents(catalogue), "", *sections])


def contents(catalogue: dict[str, CheckRow]) -> Iterator[str]:
    """The table at the top: every check with its fault and severity."""
    yield from ("| check | fault | severity |", "|---|---|---|")
    yield from (f"| {link(check)} | {row.title} | {row.severity} |" for check, row in catalogue.items())


def section(check: str, row: CheckRow) -> str:
    """One check: the fault, how it is told, what to do, how it hangs together with others, sources."""
    brings = [other for other, its in check_catalogue().items() if check in its.follows]
    paragraphs = [
        f"## {check}",
        f"**{row.title}** ({row.severity})",
        "\n".join(parts(check)),
        f"**Next:** {row.action}",
        "\n".join(["```sh", *row.next_steps, "```"]),
        *hangs_together("A symptom of", row.follows),
        *hangs_together("Brings", brings),
        *hangs_together("Unknown while there is a problem with", row.needs),
        f"Sources, read {row.checked_on}: {', '.join(source_link(source) for source in row.sources)}.",
    ]
    return "\n\n".join(paragraphs) + "\n"


def first_line(sample: str) -> str:
    """The first line that holds something."""
    return sample.strip().splitlines()[0].strip()


def parts(check: str) -> Iterator[str]:
    """What, why and how to tell, from the docstring of the check's module; one list entry each."""
    if check_catalogue()[check].told_only:
        told = [first_line(signature.sample) for signature in signatures() if signature.check == check]
        more = f", and {len(told) - SHOWN_TEXTS} more kinds of text" if len(told) > SHOWN_TEXTS else ""
        yield (
            "- **How to tell:** a program prints one of: "
            + ", ".join(f"`{line}`" for line in told[:SHOWN_TEXTS])
            + more
        )
        return
    words = inspect.getdoc(importlib.import_module(f"rigwise.checks.{check}")) or ""
    _, *pieces = PART.split(words)
    for name, text in zip(pieces[::2], pieces[1::2], strict=True):
        yield f"- **{name}:** " + " ".join(text.split())


def hangs_together(relation: str, checks: Sequence[str]) -> list[str]:
    """The checks one check is related to, as links; nothing when there are none."""
    return [f"{relation}: {', '.join(map(link, checks))}."] if checks else []


def link(check: str) -> str:
    """A link to the section of a check."""
    return f"[{check}](#{check})"


def source_link(address: str) -> str:
    """A link whose words are the address, without what every address begins and ends with.

    >>> source_link("https://docs.nvidia.com/deploy/xid-errors/")
    '[docs.nvidia.com/deploy/xid-errors](https://docs.nvidia.com/deploy/xid-errors/)'
    """
    return f"[{address.removeprefix('https://').rstrip('/')}]({address})"


def main() -> int:
    """Write the page, or with --check compare it."""
    os.environ["LANGUAGE"] = "C"  # the page is English, whoever makes it
    if "--check" not in sys.argv:
        PAGE.write_text(page(), encoding="utf-8")
    elif PAGE.read_text(encoding="utf-8") != page():
        print(f"{PAGE.name} is out of date: make docs", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
