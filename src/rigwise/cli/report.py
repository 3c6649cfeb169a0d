"""`rigwise report RUN`: the page and the comparison of a run again, also of one that was killed."""

from pathlib import Path
from typing import Annotated

import typer

from rigwise.cli.extras import PAGE, need_extra
from rigwise.cli.options import AsJson
from rigwise.cli.train import show_run
from rigwise.errors import ExitCode
from rigwise.speech import say


def report(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help=say("A run folder."))],
    json: AsJson = False,
) -> ExitCode:
    """Read the run's records, write report.html, print the comparison."""
    need_extra("train", PAGE)
    show_run(run_folder, json=json)
    return ExitCode.GO
