"""`rigwise explain`: what an error text, a traceback or a code means, who is to blame and what to do."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rigwise.cli.console import put_out
from rigwise.cli.options import AsJson
from rigwise.errors import BadInput, ExitCode
from rigwise.speech import say

if TYPE_CHECKING:
    from rigwise.records.explanation import ExplainReport


def explain(
    what: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TEXT|FILE|-|CODE]", help=say("An error text, a file, - or a code such as xid 79.")),
    ] = None,
    json: AsJson = False,
) -> ExitCode:
    """0 explained, 3 nothing recognised."""
    from rigwise.report.explain_text import explain_text, unexplained_text
    from rigwise.report.json_text import explain_json

    report = _report(what or [])
    shown = explain_text(report) if report.explanations else unexplained_text(report)
    put_out(explain_json(report) if json else shown)
    return ExitCode.GO if report.explanations else ExitCode.CANNOT_TELL


def _report(what: list[str]) -> "ExplainReport":
    """A code before a file of that name, a file before a text."""
    from rigwise.explain import explain, explain_evidence
    from rigwise.explain.codes import explain_code
    from rigwise.sources.opening import open_source

    words = " ".join(what).strip()
    if what == ["-"] or (not what and not _at_a_terminal()):
        return explain_evidence(open_source("-"))
    if not words:
        raise BadInput(
            say("there is nothing to explain"),
            say("neither a text nor a file nor a code is given"),
            say('give one: rigwise explain xid 79, rigwise explain "CUDA error: ...", rigwise explain train.log'),
        )
    if len(what) == 1 and not explain_code(words) and _exists(words):
        return explain_evidence(open_source(words))
    return explain(words)


def _at_a_terminal() -> bool:
    return sys.stdin is None or sys.stdin.isatty()


def _exists(words: str) -> bool:
    """Whether it names a file or folder; a long text is no name."""
    try:
        return Path(words).exists()
    except (OSError, ValueError):
        return False
