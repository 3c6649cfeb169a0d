"""`rigwise audit DATA`: what to know of a folder of pictures before training on it, and a page to decide on."""

from datetime import UTC, date, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rigwise import __version__
from rigwise.cli.console import ScreenProgress, put_out
from rigwise.cli.extras import AUDITING, need_extra
from rigwise.cli.options import AsJson, Verdicts
from rigwise.errors import CannotTell, ExitCode
from rigwise.speech import say
from rigwise.train.audit.plan import SAMPLE, AuditPlan

if TYPE_CHECKING:
    from rigwise.records.audit import AuditReport
    from rigwise.records.review import Review
    from rigwise.telemetry.run_folder import RunFolder


def audit(
    folder: Annotated[Path, typer.Argument(metavar="DATA", help=say("Folder of classes or of shards."))],
    out: Annotated[Path | None, typer.Option("--out", metavar="RUN", help=say("Run folder to make."))] = None,
    verdicts: Verdicts = None,
    sample: Annotated[
        int, typer.Option("--sample", min=0, help=say("Pictures to look at, at most; 0 for all."))
    ] = SAMPLE,
    no_labels: Annotated[
        bool, typer.Option("--no-labels", help=say("Skip judging labels, which needs torch."))
    ] = False,
    json: AsJson = False,
) -> ExitCode:
    """Look, print what is suspicious, leave a page where a person decides."""
    need_extra("train", AUDITING)
    from rigwise.train.audit.auditing import audit_folder
    from rigwise.train.audit.review_file import merged, read_review

    review = merged(read_review(path) for path in verdicts or ())
    labels = not no_labels and find_spec("torch") is not None and find_spec("timm") is not None
    run = _new_run(folder, out)
    with ScreenProgress() as progress:
        report = audit_folder(folder, AuditPlan(sample=sample, labels=labels, review=review), progress)
    _must_have_seen_something(report)
    _leave(run, report, review)
    _print(report, run, json=json)
    return ExitCode.PROBLEM if report.needs_a_human else ExitCode.GO


def _new_run(folder: Path, out: Path | None) -> "RunFolder":
    """The run folder, made once DATA is known to be a folder of classes."""
    from rigwise.telemetry.run_folder import create_next_run_folder, create_run_folder, default_run_folder
    from rigwise.train.preparation import must_be_outside

    must_be_outside(out or default_run_folder(date.today()), folder)
    return create_run_folder(out) if out else create_next_run_folder(date.today())


def _must_have_seen_something(report: "AuditReport") -> None:
    if not report.num_looked_at:
        raise CannotTell(
            say("cannot audit {root}: none of its files is a usable picture", root=report.root),
            say("files that should be pictures: {count}", count=report.num_files),
            say("look at the first of them: {path}", path=report.bad[0].path if report.bad else report.root),
        )


def _leave(run: "RunFolder", report: "AuditReport", review: "Review") -> None:
    """Write manifest.json, audit.json, the page, and what was answered before."""
    from rigwise.report.audit_page import AUDIT_PAGE, render_audit
    from rigwise.report.json_text import audit_json
    from rigwise.telemetry.run_folder import Manifest, write_text
    from rigwise.train.audit.review_file import leave_review

    started = datetime.now(UTC).isoformat(timespec="seconds")
    run.write_manifest(Manifest(kind="audit", started_at=started, rigwise_version=__version__))
    write_text(run.path / "audit.json", audit_json(report))
    leave_review(run.path, review)
    write_text(run.path / AUDIT_PAGE, render_audit(report, run.name, review.answers))


def _print(report: "AuditReport", run: "RunFolder", *, json: bool) -> None:
    from rigwise.report.audit_page import AUDIT_PAGE
    from rigwise.report.audit_text import audit_text
    from rigwise.report.json_text import audit_json

    put_out(audit_json(report) if json else audit_text(report, page=str(run.path / AUDIT_PAGE)))
