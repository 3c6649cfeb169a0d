"""`rigwise diff A B`: what changed between two machines, or on one between two days."""

import shlex
from typing import Annotated

import typer

from rigwise.cli.check import read
from rigwise.cli.console import put_out
from rigwise.cli.options import AsJson, UserPython, refuse_together
from rigwise.errors import BadInput, CannotTell, ExitCode
from rigwise.speech import say


def diff(
    before: Annotated[str, typer.Argument(metavar="A", help=say("A recording, run folder, file, or -."))],
    after: Annotated[
        str | None, typer.Argument(metavar="[B]", help=say("The later one; without it, this machine now."))
    ] = None,
    json: AsJson = False,
    python: UserPython = None,
) -> ExitCode:
    """0 when nothing relevant changed, 1 when something did, 3 when there is nothing to compare."""
    from rigwise.compare import Look, compare
    from rigwise.engine import judge
    from rigwise.report.diff_text import diff_text
    from rigwise.report.json_text import diff_json

    _refuse_contradictions(before, after, python)
    looks = []
    for path in (before, after):
        rig = read((path,), python=None) if path is not None else read((), python=python)
        looks.append(Look(path or say("this machine"), rig, judge(rig)))
    difference = compare(*looks)
    if not difference.changes and difference.num_equal == 0:
        raise CannotTell(
            say("cannot compare {before} and {after}", before=looks[0].name, after=looks[1].name),
            say("there is no fact that both of them tell"),
            say("rigwise check --from {path}", path=shlex.quote(before)),
        )
    look_closer = "rigwise check" if after is None else f"rigwise check --from {shlex.quote(after)}"
    put_out(diff_json(difference) if json else diff_text(difference, look_closer))
    return ExitCode.PROBLEM if difference.changed else ExitCode.GO


def _refuse_contradictions(before: str, after: str | None, python: str | None) -> None:
    if before == after == "-":
        raise BadInput(
            say("only one side can be standard input"),
            say("it can be read once"),
            say("write one of them to a file, and give its name instead of -"),
        )
    if after is not None:
        refuse_together("B", say("only this machine can be asked for its Python"), python=python)
