"""Options that several commands share, each spelled once."""

from typing import Annotated

import typer

from rigwise.speech import say

FromSource = Annotated[
    str | None,
    typer.Option("--from", metavar="PATH|-", help=say("Read a run folder or a captured text instead of this machine.")),
]
AsJson = Annotated[bool, typer.Option("--json", help=say("Print one JSON object."))]
UserPython = Annotated[
    str | None,
    typer.Option("--python", metavar="PATH", help=say("The interpreter whose frameworks are meant.")),
]
