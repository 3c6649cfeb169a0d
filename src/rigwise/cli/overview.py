"""`rigwise` alone: the rig in four lines, the decision, the next command."""

from rigwise.cli.check import exit_code
from rigwise.cli.console import ScreenProgress, put_out
from rigwise.errors import ExitCode
from rigwise.speech import say


def overview() -> ExitCode:
    """One screen."""
    from rigwise.engine import judge
    from rigwise.probes.rig import read_rig
    from rigwise.report.overview_text import overview_text
    from rigwise.report.rig_text import rig_lines
    from rigwise.sources.live import LiveSource

    with ScreenProgress(only_on_terminal=True) as progress:
        progress.begin(say("reading the machine"), None)
        rig = read_rig(LiveSource())
    report = judge(rig)
    put_out(overview_text(report, rig_lines(rig)))
    return exit_code(report)
