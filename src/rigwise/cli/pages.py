"""Makes report.html of a run folder."""

from pathlib import Path
from typing import TYPE_CHECKING

from rigwise.errors import CannotWrite
from rigwise.speech import say

if TYPE_CHECKING:
    from rigwise.records.run import RunRecord


def make_page(run_folder: Path) -> "RunRecord":
    """Write report.html beside the run's records; returns the run as it was read back.

    Raises:
        BadInput: it is not a run folder, or it is damaged.
        CannotWrite: the page cannot be written.
    """
    from rigwise.report.audit_page import AUDIT_PAGE, render_audit
    from rigwise.report.html import render_report
    from rigwise.telemetry.reading import load_run
    from rigwise.telemetry.run_folder import RunFolder, write_text

    run = load_run(run_folder)
    try:
        write_text(RunFolder(run_folder).report, render_report(run))
        if run.audit is not None:
            write_text(run_folder / AUDIT_PAGE, render_audit(run.audit, run.name))
    except CannotWrite as error:
        next_step = say("make room, or copy the run folder elsewhere; then: rigwise report FOLDER")
        raise CannotWrite(error.what, error.why, next_step) from error
    return run
