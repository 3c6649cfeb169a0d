"""`rigwise record`: everything `check` reads of this machine, masked, in one file to attach to an issue."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from rigwise.cli.console import ScreenProgress, put_out
from rigwise.cli.options import AsJson, Deep, UserPython
from rigwise.errors import ExitCode
from rigwise.speech import say


def record(
    out: Annotated[str | None, typer.Argument(metavar="OUT", help=say("A .tar.gz, or a folder ending in /."))] = None,
    deep: Deep = False,
    unmasked: Annotated[bool, typer.Option("--unmasked", help=say("Keep names, addresses and secrets."))] = False,
    python: UserPython = None,
    json: AsJson = False,
) -> ExitCode:
    """Read, mask, write, and say what is in it."""
    from rigwise.recording import Request, default_place, record_machine
    from rigwise.report.json_text import check_json, record_json
    from rigwise.report.record_text import preview_text, record_text
    from rigwise.sources.archiving import refuse_existing
    from rigwise.sources.live import LiveSource

    now = datetime.now(UTC)
    place = default_place(now.astimezone()) if out is None else Path(out)
    as_folder = out is not None and (out.endswith("/") or place.is_dir())
    refuse_existing(place)
    request = Request(place=place, as_folder=as_folder, at=now, python=python, deep=deep, masked=not unmasked)
    with ScreenProgress(only_on_terminal=True) as progress:
        progress.begin(say("recording the machine"), None)
        report = record_machine(LiveSource(), request, preview_text, check_json)
    put_out(record_json(report) if json else record_text(report))
    return ExitCode.GO
