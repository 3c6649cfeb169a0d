"""A whole run for the terminal: what it was, the trials side by side, what to take, what to know, what comes next."""

from collections.abc import Iterator, Sequence
from pathlib import PurePath

from rich.console import Group, RenderableType
from rich.text import Text

from rigwise.records.bad_picture import BadPicture
from rigwise.records.run import PictureSummary, RunRecord
from rigwise.records.text import TextSummary
from rigwise.report.audit_words import findings
from rigwise.report.ceilings_text import ceilings_lines, lever_lines
from rigwise.report.checkpoints_text import resumption_lines
from rigwise.report.comparison import why_no_gpu
from rigwise.report.knobs_text import knob_lines, knobs_lines
from rigwise.report.lr_report import lr_lines
from rigwise.report.ranks_text import ranks_lines
from rigwise.report.text import comparison_table, indented, labelled_lines, next_line, printable
from rigwise.report.text_words import text_review_lines
from rigwise.speech import say


def run_text(run: RunRecord, page: str) -> RenderableType:
    """The comparison `rigwise train` prints; `page` is the path of the HTML report."""
    lines = labelled_lines()
    for label, sentence, style in _lines(run, page):
        lines.add_row(Text(f"  {label}", style="dim"), Text(printable(sentence), style=style))
    command = _next_command(run)
    last = (Text(), next_line(command)) if command else ()
    levers = (Text(), *lever_lines(run.ceilings)) if run.ceilings and run.ceilings.levers else ()
    knobs = (Text(), *knob_lines(run.knobs)) if run.knobs and run.knobs.knobs else ()
    return Group(*_opening(run), Text(), comparison_table(run), Text(), lines, *levers, *knobs, *last)


def _opening(run: RunRecord) -> Iterator[RenderableType]:
    """What a reader must know before the first number, then what was trained on what."""
    no_gpu = why_no_gpu(run)
    if not run.finished:
        yield Text(say("The run was interrupted. This is what was measured before."), style="bold yellow")
    if no_gpu:
        yield Text(printable(say("No training ran on a GPU: {why}", why=no_gpu)), style="bold yellow")
    data = _pictures(run.pictures) if run.pictures else _texts(run.texts) if run.texts else ""
    subject = (data, run.model)
    yield Text(printable(" · ".join(filter(None, subject))), style="bold")
    on_what = (run.weights, *(() if no_gpu else run.rig_lines[:1]))
    yield from (indented(line, style="dim") for line in filter(None, on_what))


def _pictures(pictures: PictureSummary) -> str:
    return say(
        "{name} · {classes} classes · {count} pictures",
        name=PurePath(pictures.root).name or pictures.root,
        classes=len(pictures.classes),
        count=f"{sum(sum(split.values()) for split in pictures.counts.values()):,}",
    )


def _texts(texts: TextSummary) -> str:
    return say(
        "{name} · {count} documents · {characters} characters",
        name=PurePath(texts.root).name or texts.root,
        count=f"{sum(texts.counts.values()):,}",
        characters=f"{sum(texts.characters.values()):,}",
    )


def _lines(run: RunRecord, page: str) -> Iterator[tuple[str, str, str]]:
    """Label, sentence and style of each line under the table."""
    if run.recommendation:
        yield say("take"), run.recommendation.trial or say("none of them"), "bold"
        yield from (("", sentence, "") for sentence in run.recommendation.because.splitlines())
    if run.batch_search:
        found = run.batch_search
        words = say(
            "{batch} ran {steps} steps, validation and checkpoint; {count} sizes tried",
            batch=found.batch_size,
            steps=found.proof.steps,
            count=len({probe.batch_size for probe in found.probes}),
        )
        yield say("batch size"), words, ""
        yield from (("", note, "") for note in found.notes)
    yield from ((say("ranks"), sentence, "") for sentence in ranks_lines(run))
    if run.lr_search:
        yield from lr_lines(run.lr_search)
    if run.ceilings:
        yield from ceilings_lines(run.ceilings)
    if run.knobs:
        yield from knobs_lines(run.knobs)
    data = run.pictures or run.texts
    if run.text_review:
        yield from text_review_lines(run.text_review)
    yield from ((say("before you trust"), note, "") for note in (data.notes if data else ()))
    if run.audit:
        yield from ((label, sentence, "") for label, sentence in findings(run.audit))
    if data and data.bad:
        yield say("bad files"), _bad_files(data.bad), ""
    yield from ((label, sentence, "") for label, sentence in resumption_lines(run))
    if run.repeat_note:
        yield say("repeat"), run.repeat_note, "bold"
    if run.model_note:
        yield say("model"), run.model_note, ""
    if run.predict_command:
        yield say("use it"), run.predict_command, ""
    yield say("report"), page, ""
    if run.repeat_command != _next_command(run):
        yield say("again tomorrow"), run.repeat_command, ""


def _bad_files(bad: Sequence[BadPicture]) -> str:
    first = bad[0]
    return say("{count} skipped, first {path}: {why}", count=len(bad), path=first.path, why=first.reason)


def _next_command(run: RunRecord) -> str:
    """The recommendation's next command; an interrupted run goes on, or can only be run again."""
    if not run.finished and run.resume_command:
        return run.resume_command
    return run.recommendation.next_step if run.recommendation else run.repeat_command
