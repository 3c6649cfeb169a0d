"""`rigwise check`: what is wrong with this machine, or with recorded evidence of one."""

from typing import Annotated

import typer

from rigwise.cli.console import ScreenProgress, put_out
from rigwise.cli.options import AsJson, FromSource, UserPython
from rigwise.errors import ExitCode
from rigwise.records.finding import Action, CheckReport
from rigwise.speech import say


def check(
    source: FromSource = None,
    json: AsJson = False,
    show_all: Annotated[bool, typer.Option("--all", help=say("List passing checks too."))] = False,
    only: Annotated[list[str] | None, typer.Option("--only", metavar="ID", help=say("Run only this check."))] = None,
    python: UserPython = None,
) -> ExitCode:
    """Answer first, evidence second, one next command last."""
    from rigwise.engine import chosen_checks, judge
    from rigwise.probes.rig import read_rig
    from rigwise.report.check_text import check_text
    from rigwise.report.json_text import check_json
    from rigwise.report.rig_text import rig_lines
    from rigwise.sources.live import LiveSource
    from rigwise.sources.opening import open_source

    selected = chosen_checks(only or ())
    with ScreenProgress(only_on_terminal=True) as progress:
        progress.begin(say("reading the machine"), None)
        rig = read_rig(LiveSource() if source is None else open_source(source), python=python)
    report = judge(rig, selected)
    put_out(check_json(report) if json else check_text(report, rig_lines(rig)[0], show_all=show_all))
    return exit_code(report)


def exit_code(report: CheckReport) -> ExitCode:
    """0 go (notes at most), 1 a problem, 3 cannot tell."""
    return {Action.GO: ExitCode.GO, Action.CANNOT_TELL: ExitCode.CANNOT_TELL}.get(
        report.decision.action, ExitCode.PROBLEM
    )
