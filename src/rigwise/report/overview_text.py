"""One screen: the rig in four lines, the decision, the next command."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from rigwise.records.finding import CheckReport
from rigwise.report.causes import sentences
from rigwise.report.check_text import last_line, verdict
from rigwise.report.text import indented


def overview_text(report: CheckReport, rig_lines: Sequence[str]) -> RenderableType:
    """What `rigwise` alone prints."""
    decision = report.decision
    return Group(
        *map(indented, rig_lines),
        Text(),
        verdict(decision),
        *map(indented, sentences(decision.next_steps)),
        Text(),
        *last_line(decision),
    )
