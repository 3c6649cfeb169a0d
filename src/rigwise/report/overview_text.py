"""One screen: the rig in four lines, the decision, the next command."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from rigwise.records.finding import CheckReport
from rigwise.report.causes import action_word
from rigwise.report.check_text import ACTION_STYLE
from rigwise.report.text import printable
from rigwise.speech import say


def overview_text(report: CheckReport, rig_lines: Sequence[str]) -> RenderableType:
    """What `rigwise` alone prints."""
    decision = report.decision
    verdict = Text.assemble((action_word(decision.action), ACTION_STYLE[decision.action]), "   ")
    verdict.append(printable(decision.because), style="bold")
    following = [Text(f"  {say('next')}  {printable(step)}") for step in decision.next_steps[:1]]
    return Group(*(Text(f"  {printable(line)}") for line in rig_lines), Text(), verdict, *following)
