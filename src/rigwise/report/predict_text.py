"""What a model says of pictures, for the terminal and as a CSV table."""

import csv
from collections.abc import Iterator
from io import StringIO

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rigwise.records.exported import Answer, PredictReport
from rigwise.report.text import labelled_lines, printable
from rigwise.speech import say
from rigwise.units import percent, significant

MOST_CLASSES = 12
"""A confusion matrix with more does not fit a terminal; `--json` has it."""
COLUMNS = ("path", "label", "probability", "sure", "possible", "truth", "why_not")


def predict_text(report: PredictReport) -> RenderableType:
    """Every answer, then what to know of them."""
    lines = labelled_lines()
    for label, sentence in _lines(report):
        lines.add_row(Text(f"  {label}", style="dim"), Text(printable(sentence)))
    matrix = (Text(), _confusion(report)) if report.confusion and len(report.labels) <= MOST_CLASSES else ()
    return Group(_answers(report), Text(), lines, *matrix)


def predict_csv(report: PredictReport) -> str:
    """One line for each picture, those that cannot be read last."""
    text = StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(COLUMNS)
    for each in report.answers:
        sure = {True: "yes", False: "no", None: ""}[each.sure]
        possible = "|".join(each.possible)
        table.writerow([each.path, each.label, f"{each.probability:.6f}", sure, possible, each.truth, ""])
    for bad in report.bad:
        table.writerow([bad.path, "", "", "", "", "", bad.reason])
    return text.getvalue()


def _answers(report: PredictReport) -> Table:
    """One row for each picture, and below it what else there is to say; `?` marks the unsure ones."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("  " + say("label"), overflow="fold")
    table.add_column(say("probability"), justify="right", no_wrap=True)
    table.add_column(say("picture"), overflow="fold")
    for each in report.answers:
        mark, style = ("? ", "yellow") if each.sure is False else ("  ", "")
        cells = (mark + (each.label or ""), percent(each.probability or 0.0), each.path)
        table.add_row(*(Text(printable(cell)) for cell in cells), style=style)
        if remark := " · ".join(filter(None, (*_others(each), _doubt(each), _fault(each)))):
            table.add_row("", "", Text(printable(remark)), style="dim")
    return table


def _others(answer: Answer) -> Iterator[str]:
    return (f"{guess.label} {percent(guess.probability)}" for guess in answer.top[1:])


def _doubt(answer: Answer) -> str:
    if answer.sure is not False:
        return ""
    if not answer.possible:
        return say("unsure: like no validation picture")
    return say("unsure: {labels}", labels=say(" or ").join(answer.possible))


def _fault(answer: Answer) -> str:
    wrong = answer.truth and answer.truth != answer.label
    return say("its folder says {label}", label=answer.truth) if wrong else ""


def _lines(report: PredictReport) -> Iterator[tuple[str, str]]:
    """Label and sentence of each line under the table."""
    if report.accuracy:
        found = report.accuracy
        yield (
            say("accuracy"),
            say(
                "{ratio} ({low} to {high}, 95 % interval): {correct} of {total} pictures in folders of their classes",
                ratio=percent(found.ratio),
                low=percent(found.low_ratio),
                high=percent(found.high_ratio),
                correct=found.correct,
                total=found.total,
            ),
        )
    yield say("unsure"), _unsure(report)
    for bad in report.bad:
        yield say("not readable"), f"{bad.path}: {bad.reason}"
    yield from ((say("note"), note) for note in report.notes)
    speed = significant(report.images_per_second)
    yield say("computed on"), say("{device}, {speed} pictures/s with decoding", device=report.device, speed=speed)


def _unsure(report: PredictReport) -> str:
    known = report.sureness
    if known.threshold_ratio is None:
        return say("not marked: {count} validation pictures are too few to calibrate it", count=known.num_pictures)
    return say(
        "{count} of {total}: not exactly one class has {threshold} or more, which {share} % of the {num} validation "
        "pictures gave their true class",
        count=sum(each.sure is False for each in report.answers),
        total=len(report.answers),
        threshold=percent(known.threshold_ratio),
        share=f"{100 * known.coverage_ratio:.0f}",
        num=known.num_pictures,
    )


def _confusion(report: PredictReport) -> Table:
    """Counts, true class by row and answer by column."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("  " + say("folder \\ answer"), overflow="fold")
    for label in report.labels:
        table.add_column(printable(label), overflow="fold", justify="right")
    for label, counts in zip(report.labels, report.confusion or (), strict=True):
        table.add_row(Text(f"  {printable(label)}"), *(Text(str(count)) for count in counts))
    return table
