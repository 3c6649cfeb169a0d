"""Options that several commands share, each spelled once, and what each of them goes with."""

from pathlib import Path
from typing import Annotated

import typer

from rigwise.errors import BadInput
from rigwise.speech import say

FromSource = Annotated[
    list[str] | None,
    typer.Option(
        "--from", metavar="PATH|-", help=say("Read this recording, file or folder instead of this machine; repeatable.")
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help=say("Print one JSON object."))]
Verdicts = Annotated[
    list[Path] | None,
    typer.Option("--verdicts", metavar="FILE", help=say("Answers exported by a review page; repeatable.")),
]
UserPython = Annotated[
    str | None,
    typer.Option("--python", metavar="PATH", help=say("The interpreter whose frameworks are meant.")),
]
Deep = Annotated[
    bool, typer.Option("--deep", help=say("Also measure: disk, transfers, a container, a look under load."))
]


def refuse_together(option: str, why: str, **others: object) -> None:
    """Nothing, unless one of the other options is given too.

    Raises:
        BadInput: what `option` asks for cannot honour them.
    """
    given = [f"--{name}" for name, value in others.items() if value not in (None, False, [], "")]
    if given:
        raise BadInput(
            say("{option} cannot be combined with {options}", option=option, options=", ".join(given)),
            why,
            say("leave out {options}", options=", ".join(given)),
        )
