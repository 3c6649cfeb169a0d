"""A check report as one self-contained HTML page: no network, no script, safe with any evidence."""

from collections.abc import Sequence

from rigwise import __version__
from rigwise.records.finding import CheckReport
from rigwise.report.causes import absence_words, action_word, arrange, commands
from rigwise.report.page_templates import source, templates


def render_check(report: CheckReport, rig_lines: Sequence[str], origin: str) -> str:
    """The whole page as HTML text; `origin` is where the evidence was read."""
    environment = templates()
    environment.globals |= {"absence_words": absence_words}
    return environment.get_template("check.html.j2").render(
        action=report.decision.action,
        action_word=action_word(report.decision.action),
        because=report.decision.because,
        arranged=arrange(report),
        next_step=next(iter(commands(report.decision.next_steps)), ""),
        rig_lines=rig_lines,
        origin=origin,
        version=__version__,
        css=source(environment, "report.css"),
    )
