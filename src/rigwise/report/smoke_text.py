"""The chain of proofs that one batch works, for the terminal."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rigwise.records.smoke import Link, SmokeReport
from rigwise.report.text import next_line, printable
from rigwise.speech import say


def smoke_text(report: SmokeReport) -> RenderableType:
    """Answer first, then each link with what was measured, one next command last."""
    broken = report.first_broken
    if broken is None:
        proved = report.proved or say("one batch works on the CPU and on the GPU, with equal results")
        verdict = Text(say("GO   {proved}", proved=proved), style="bold green")
    else:
        verdict = Text(say("STOP   first broken link: {link}", link=broken.name), style="bold red")
    links = Table.grid(padding=(0, 2))
    for link in report.links:
        links.add_row(_mark(link), Text(link.name), Text(printable(link.text)))
    return Group(verdict, Text(), links, Text(), next_line(report.next_step))


def _mark(link: Link) -> Text:
    if link.ok is None:
        return Text("  " + say("not reached"), style="dim")
    return Text("  " + say("ok"), style="green") if link.ok else Text("  " + say("broken"), style="bold red")
