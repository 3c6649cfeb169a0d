"""A check report for the terminal: decision, first cause with its evidence, the rest counted, the next command last."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rigwise.records.evidence import Quote, Status
from rigwise.records.finding import RIG, Action, CheckReport, Decision, Finding, Severity, Verdict
from rigwise.report.causes import Arranged, Cause, action_word, arrange, commands, sentences
from rigwise.report.text import indented, labelled_lines, next_line, printable
from rigwise.speech import say

ACTION_STYLE = {
    Action.GO: "bold green",
    Action.GO_WITH_CARE: "bold yellow",
    Action.STOP: "bold red",
    Action.CANNOT_TELL: "bold magenta",
}
MAX_UNKNOWN = 4
"""Reasons for an unknown shown before the rest is counted; a screen holds 24 lines."""
MAX_QUOTED_LINES = 4
"""Lines shown of one piece of evidence; a server lists hundreds of PCI devices."""


def check_text(report: CheckReport, rig_line: str, measured: str = "", *, show_all: bool = False) -> RenderableType:
    """The whole report in the order it is needed.

    `measured` is what a deep check measured, in one line; `show_all` lists every finding with all of its evidence.
    """
    arranged = arrange(report)
    body = labelled_lines()
    for position, cause in enumerate(arranged.causes):
        _add_cause(body, cause, report.decision, first=position == 0, show_all=show_all)
    if show_all:
        _add_each(body, arranged)
    else:
        _add_unknown(body, [finding for finding in arranged.unknown if _is_worth_a_line(finding, report.decision)])
    about = [indented(line, style="dim") for line in (rig_line, measured) if line]
    parts: list[RenderableType] = [verdict(report.decision), *about, Text()]
    if body.row_count:
        parts += [body, Text()]
    return Group(*parts, indented(_counts(arranged), style="dim"), Text(), *last_line(report.decision))


def verdict(decision: Decision) -> RenderableType:
    """The decision as a word, and because of what."""
    line = Table.grid(padding=(0, 3))
    line.add_row(
        Text(action_word(decision.action), style=ACTION_STYLE[decision.action]),
        Text(printable(decision.because), style="bold"),
    )
    return line


def last_line(decision: Decision) -> Iterator[RenderableType]:
    """The one next command, ready to be copied."""
    for command in commands(decision.next_steps)[:1]:
        yield next_line(command)


def _add_cause(body: Table, cause: Cause, decision: Decision, *, first: bool, show_all: bool) -> None:
    """A cause with evidence, meaning, symptoms and what to do; a note beside something graver without evidence."""
    finding = cause.finding
    troubled = decision.action in (Action.STOP, Action.GO_WITH_CARE)
    brief = troubled and not first and finding.severity is Severity.NOTE and not show_all
    leads = troubled and first
    label = say("first cause") if leads else say("also") if troubled else say("note")
    body.add_row(_label(label, "bold" if leads else "dim"), _heading(finding, decision, brief=brief))
    if not brief:
        _add_evidence(body, finding, max_lines=None if show_all else MAX_QUOTED_LINES)
    body.add_row(Text(), Text(printable(finding.because)))
    _add_symptoms(body, cause, decision)
    given = commands(finding.next_steps)
    listed = () if brief or (leads and len(given) == 1) else given
    _add_lines(body, say("what to do"), (*sentences(finding.next_steps), *listed))


def _heading(finding: Finding, decision: Decision, *, brief: bool = False) -> Text:
    """`gpu_lost · GPU 1 (RTX 4090, 0000:41:00.0)`, and the title unless the headline has said it."""
    parts = [finding.check]
    if finding.target != RIG:
        parts.append(finding.short_target if brief else finding.target)
    if finding.title not in decision.because:
        parts.append(finding.title)
    return Text(printable(" · ".join(parts)))


def _add_evidence(body: Table, finding: Finding, max_lines: int | None) -> None:
    for quote in finding.evidence:
        body.add_row(Text(), _quoted(quote, max_lines))


def _quoted(quote: Quote, max_lines: int | None) -> RenderableType:
    """What was read, word for word, under its source; in our words only how many lines were left out."""
    lines = quote.text.expandtabs().splitlines() or [""]
    kept = lines if len(lines) == MAX_QUOTED_LINES + 1 else lines[:max_lines]
    block = Table.grid(padding=(0, 1))
    for line in [f"{quote.source}: {kept[0]}"] if len(lines) == 1 else [f"{quote.source}:", *kept]:
        block.add_row(Text("|", style="cyan"), Text(printable(line), style="cyan"))
    if left_out := len(lines) - len(kept):
        block.add_row(Text(), Text(say("{count} more lines with --all", count=left_out), style="dim"))
    return block


def _add_symptoms(body: Table, cause: Cause, decision: Decision) -> None:
    lines = [_heading(symptom, decision, brief=True).plain for symptom in cause.problems]
    if cause.unanswered:
        lines.append(_unanswered(len(cause.unanswered)))
    _add_lines(body, say("its symptoms"), lines)


def _unanswered(count: int) -> str:
    if count == 1:
        return say("1 check has no answer because of it")
    return say("{count} checks have no answer because of it", count=count)


def _add_unknown(body: Table, findings: Sequence[Finding]) -> None:
    """Unknowns by what is missing, and what would make them known."""
    reasons: dict[tuple[tuple[str, ...], str], list[Finding]] = {}
    for finding in findings:
        reasons.setdefault((finding.next_steps, finding.because), []).append(finding)
    shown = sorted(list(reasons)[:MAX_UNKNOWN], key=lambda reason: reason[0], reverse=True)
    for steps, alike in groupby(shown, key=lambda reason: reason[0]):
        lines = [f"{_names(reasons[reason])} · {reason[1]}" for reason in alike]
        _add_lines(body, say("unknown"), (*lines, *steps))
    left_out = len(findings) - sum(len(reasons[reason]) for reason in shown)
    if left_out:
        _add_lines(body, "", (say("{count} more with --all", count=left_out),))


def _names(findings: Sequence[Finding]) -> str:
    return findings[0].check if len(findings) == 1 else say("{count} checks", count=len(findings))


def _add_each(body: Table, arranged: Arranged) -> None:
    """Every finding that is no problem."""
    for label, findings in _kinds(arranged).items():
        for finding in findings:
            if finding.verdict is not Verdict.PROBLEM:
                steps = finding.next_steps if finding.symptom_of is None else ()
                _add_lines(body, label, (f"{finding.check} · {finding.target}: {finding.because}", *steps))


def _kinds(arranged: Arranged) -> dict[str, tuple[Finding, ...]]:
    """Every finding once, under the word it is counted by."""
    causes = [cause.finding for cause in arranged.causes]
    return {
        say("problems"): tuple(finding for finding in causes if finding.severity is not Severity.NOTE),
        say("notes"): tuple(finding for finding in causes if finding.severity is Severity.NOTE),
        say("symptoms"): tuple(symptom for cause in arranged.causes for symptom in cause.problems),
        say("folded"): tuple(symptom for cause in arranged.causes for symptom in cause.unanswered),
        say("unknown"): tuple(one for one in arranged.unknown if not (_not_applicable(one) or _not_recorded(one))),
        say("not in the evidence"): tuple(finding for finding in arranged.unknown if _not_recorded(finding)),
        say("not applicable"): tuple(finding for finding in arranged.unknown if _not_applicable(finding)),
        say("ok"): arranged.ok,
    }


def _not_applicable(finding: Finding) -> bool:
    """Whether the device has no such value, so that nothing will ever make it known."""
    return finding.absence is Status.NOT_SUPPORTED


def _not_recorded(finding: Finding) -> bool:
    """Whether nobody handed over what it needs."""
    return finding.absence is Status.NOT_RECORDED


def _is_worth_a_line(finding: Finding, decision: Decision) -> bool:
    """Whether it is shown by name: what was not handed over is only counted, unless nothing else can be said."""
    told = decision.action is not Action.CANNOT_TELL and _not_recorded(finding)
    return not (told or _not_applicable(finding))


def _counts(arranged: Arranged) -> str:
    kinds = _kinds(arranged)
    counts = [f"{label} {len(findings)}" for label, findings in kinds.items() if findings]
    total = sum(map(len, kinds.values()))
    return say("{total} checks: {counts}", total=total, counts=" · ".join(counts))


def _label(words: str, style: str = "dim") -> Text:
    return Text(f"  {words}", style=style)


def _add_lines(body: Table, label: str, lines: Sequence[str]) -> None:
    """Lines of text, the label beside the first."""
    for position, line in enumerate(lines):
        body.add_row(_label(label) if position == 0 else Text(), Text(printable(line)))
