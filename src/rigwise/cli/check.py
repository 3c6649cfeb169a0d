"""`rigwise check`: what is wrong with this machine, or with recorded evidence of one."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rigwise.cli.console import ScreenProgress, put_out
from rigwise.cli.options import AsJson, Deep, FromSource, UserPython, refuse_together
from rigwise.errors import BadInput, ExitCode
from rigwise.records.finding import Action, CheckReport
from rigwise.speech import say

if TYPE_CHECKING:
    from rigwise.records.rig import Rig

PAGE = ("jinja2",)
"""What a page of a check is made with."""


def check(
    paths: Annotated[list[str] | None, typer.Argument(metavar="[PATH]...", help=say("More for --from."))] = None,
    sources: FromSource = None,
    json: AsJson = False,
    show_all: Annotated[bool, typer.Option("--all", help=say("List passing checks too."))] = False,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="ID", help=say("Run only this check, or those of a row: T3."))
    ] = None,
    python: UserPython = None,
    deep: Deep = False,
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help=say("Where the data lies whose disk --deep measures."))
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="PAGE", help=say("Also write the report as one page."))
    ] = None,
    list_checks: Annotated[bool, typer.Option("--list", help=say("List the checks, and run none."))] = False,
) -> ExitCode:
    """Answer first, evidence second, one next command last."""
    from rigwise.engine import chosen_checks, judge
    from rigwise.report.check_text import check_text
    from rigwise.report.json_text import check_json
    from rigwise.report.measured_text import measured_line
    from rigwise.report.rig_text import rig_lines

    evidence = _evidence(sources, paths)
    _refuse_contradictions(evidence, python=python, deep=deep, html=html, list_checks=list_checks)
    _refuse_data(data, deep=deep)
    selected = chosen_checks(only or ())
    if list_checks:
        return _list(selected, json=json)
    _need_page_maker(html)
    rig = read(evidence, python=python, deep=deep, data=data)
    report = judge(rig, selected)
    if html is not None:
        _write_page(html, report, rig, evidence)
    put_out(
        check_json(report) if json else check_text(report, rig_lines(rig)[0], measured_line(rig), show_all=show_all)
    )
    return exit_code(report)


def read(evidence: Sequence[str], *, python: str | None = None, deep: bool = False, data: Path | None = None) -> "Rig":
    """The machine behind the evidence; without any, this machine. A recording gives its deep answers unasked."""
    from rigwise.probes.rig import read_rig
    from rigwise.sources.live import LiveSource
    from rigwise.sources.opening import open_source

    with ScreenProgress(only_on_terminal=True) as progress:
        progress.begin(say("reading the evidence") if evidence else say("reading the machine"), None)
        if evidence:
            return read_rig(open_source(evidence), deep=True)
        return read_rig(LiveSource(), python=python, deep=deep, data_folder=str(data or "."))


def exit_code(report: CheckReport) -> ExitCode:
    """0 go (notes at most), 1 a problem, 3 cannot tell."""
    return {Action.GO: ExitCode.GO, Action.CANNOT_TELL: ExitCode.CANNOT_TELL}.get(
        report.decision.action, ExitCode.PROBLEM
    )


def _evidence(sources: Sequence[str] | None, paths: Sequence[str] | None) -> tuple[str, ...]:
    """Everything that `--from` names, one after the other."""
    if paths and not sources:
        raise BadInput(
            say("unexpected: {paths}", paths=" ".join(paths)),
            say("check looks at this machine unless --from names something else"),
            say("rigwise check --from {paths}", paths=shlex.join(paths)),
        )
    return (*(sources or ()), *(paths or ()))


def _refuse_contradictions(
    evidence: Sequence[str], *, python: str | None, deep: bool, html: Path | None, list_checks: bool
) -> None:
    if list_checks:
        why = say("the list of checks is the same for every machine, and none is looked at")
        refuse_together("--list", why, **{"from": [*evidence]}, python=python, deep=deep, html=html)
    if evidence:
        why = say("recorded evidence answers what it holds, also of a deep check, and nothing can be asked anew")
        refuse_together("--from", why, python=python, deep=deep)


def _refuse_data(data: Path | None, *, deep: bool) -> None:
    if data is None:
        return
    if not deep:
        raise BadInput(
            say("--data was given without --deep"),
            say("it names the folder whose disk is measured, and only --deep measures"),
            say("rigwise check --deep --data {folder}", folder=shlex.quote(str(data))),
        )
    if not data.is_dir():
        raise BadInput(
            say("there is no folder {folder}", folder=data),
            say("--data names the folder whose disk is measured"),
            say("leave --data out to measure the disk of the current folder"),
        )


def _list(selected: Sequence[str], *, json: bool) -> ExitCode:
    from rigwise.report.check_list import list_json, list_text

    put_out(list_json(selected) if json else list_text(selected))
    return ExitCode.GO


def _need_page_maker(html: Path | None) -> None:
    if html is not None:
        from rigwise.cli.extras import need_extra

        need_extra("html", PAGE)


def _write_page(path: Path, report: CheckReport, rig: "Rig", evidence: Sequence[str]) -> None:
    from rigwise.report.check_page import render_check
    from rigwise.report.measured_text import measured_line
    from rigwise.report.rig_text import rig_lines
    from rigwise.telemetry.run_folder import write_text

    about = tuple(filter(None, (*rig_lines(rig), measured_line(rig))))
    write_text(path, render_check(report, about, " ".join(evidence) or say("this machine")))
