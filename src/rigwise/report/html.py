"""One run as one self-contained HTML page: no network, readable in ten years, safe with any class or file name.

The page is put together from templates/: Jinja escapes every value, the charts travel as JSON that the page's own
script hands to the Plotly that is inlined once. Must not read the machine or the run folder.
"""

import hashlib
from typing import Any

from markupsafe import Markup
from plotly.offline import get_plotlyjs

from rigwise.knowledge.metrics import load_metrics
from rigwise.records.finding import Action
from rigwise.records.run import Confusion, PictureSummary, RunRecord
from rigwise.report.audit_page import audit_parts
from rigwise.report.causes import absence_words, action_word, arrange, commands
from rigwise.report.ceilings_text import ceilings_parts
from rigwise.report.charts import accuracy_chart, loss_chart, step_time_chart
from rigwise.report.checkpoints_text import cost_lines, resumption_lines
from rigwise.report.comparison import Column, accuracy, compare, number
from rigwise.report.figures import Chart, trial_accents
from rigwise.report.footnotes import footnotes
from rigwise.report.knobs_text import knobs_parts
from rigwise.report.lr_report import lr_chart, suggestion_words
from rigwise.report.page_templates import review_sentences, script_json, source, templates
from rigwise.report.ranks_text import ranks_lines
from rigwise.report.text_chart import val_loss_chart
from rigwise.report.text_words import learned_words
from rigwise.report.timeline import timeline_chart
from rigwise.speech import say
from rigwise.units import memory


def render_report(run: RunRecord) -> str:
    """The whole page as HTML text."""
    environment = templates()
    environment.globals |= {"number": number, "absence_words": absence_words, "memory": memory}
    sources = {name: source(environment, name) for name in ("report.css", "report.js", "review.js")}
    return environment.get_template("report.html.j2").render(
        **_page(run),
        css=sources["report.css"],
        script=sources["report.js"],
        review=sources["review.js"],
        plotly=Markup(get_plotlyjs()),
    )


def _page(run: RunRecord) -> dict[str, Any]:
    """Everything the template shows."""
    metrics = load_metrics()
    accents = trial_accents(run)
    charts = (
        loss_chart(run, accents),
        val_loss_chart(run, accents) if run.texts else accuracy_chart(run, accents),
        timeline_chart(run, accents, metrics),
        step_time_chart(run, accents),
        *((lr_chart(run.lr_search),) if run.lr_search else ()),
    )
    return {
        "run": run,
        "accents": accents,
        "action": run.check.decision.action if run.check else Action.CANNOT_TELL,
        "action_word": action_word(run.check.decision.action if run.check else Action.CANNOT_TELL),
        "arranged": arrange(run.check) if run.check else None,
        "next_step": _next_step(run),
        "key_figures": _key_figures(run),
        "comparison": compare(run),
        "ranks_lines": tuple(ranks_lines(run)),
        "charts": {chart.id: chart for chart in charts},
        "picture_rows": _picture_rows(run.pictures) if run.pictures else (),
        "confusion_rows": _confusion_rows(run.confusion) if run.confusion else (),
        "learned": learned_words(run.text_review) if run.text_review else "",
        **(audit_parts(run.audit) if run.audit else {"audit": None}),
        **(ceilings_parts(run.ceilings) if run.ceilings else {"ceilings": None}),
        "resumption_lines": tuple(sentence for _, sentence in resumption_lines(run)),
        "checkpoint_costs": tuple(cost_lines(run)),
        "lr_words": suggestion_words(run.lr_search) if run.lr_search else "",
        **(knobs_parts(run.knobs) if run.knobs else {"knobs": None}),
        "footnotes": footnotes(run, metrics),
        "embedded": _embedded(run, charts),
    }


def _next_step(run: RunRecord) -> str:
    """The one next command: the check's when it says stop, what goes on, the recommendation's, or a repeat."""
    checked = commands(run.check.decision.next_steps)[:1] if run.check else ()
    stopped = run.check is not None and run.check.decision.action is Action.STOP
    recommended = (run.recommendation.next_step,) if run.recommendation else ()
    onwards = () if run.finished else (run.resume_command,)
    candidates = (*checked, *onwards, *recommended) if stopped else (*onwards, *recommended, *checked)
    return next((step for step in (*candidates, run.repeat_command) if step), "")


def _key_figures(run: RunRecord) -> tuple[tuple[str, str, str, str], ...]:
    """Name, number, unit and interval of what the recommended trial reached, as far as it was measured."""
    comparison = compare(run)
    index = next((index for index, row in enumerate(comparison.rows) if row.recommended), None)
    if index is None:
        return ()
    learned = (say("val loss"), say("perplexity"), say("next token right"), say("val accuracy"))
    wanted = (*learned, say("speed"), say("step mean"), say("peak reserved"), say("data wait"))
    by_head = {column.head: column for column in comparison.columns}
    found = [by_head[head] for head in wanted if head in by_head and by_head[head].cells[index]]
    return tuple(_key_figure(column, index) for column in found)


def _key_figure(column: Column, row: int) -> tuple[str, str, str, str]:
    value, _, interval = column.cells[row].partition(" ")
    if not interval:
        return column.head, value, column.unit, ""
    unit = column.unit.partition(" ")[0]
    return column.head, value, unit, say("95 % interval {bounds}", bounds=interval.strip("()"))


def _picture_rows(pictures: PictureSummary) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Each class with its number of pictures in every split, then their sum."""
    splits = [tuple(counts.get(name, 0) for counts in pictures.counts.values()) for name in pictures.classes]
    return tuple((name, (*row, sum(row))) for name, row in zip(pictures.classes, splits, strict=True))


def _confusion_rows(confusion: Confusion) -> tuple[tuple[str, tuple[tuple[int, int], ...], str], ...]:
    """Each true class with (count, percent of the row) per predicted class, and its recall with interval."""
    rows = []
    for position, (name, counts) in enumerate(zip(confusion.classes, confusion.counts, strict=True)):
        total = sum(counts)
        cells = tuple((count, round(100 * count / total) if total else 0) for count in counts)
        rows.append((name, cells, accuracy(counts[position], total) if total else ""))
    return tuple(rows)


def _embedded(run: RunRecord, charts: tuple[Chart, ...]) -> Markup:
    """What the page's script reads, as JSON that cannot end the script element it stands in."""
    content = {
        "run": hashlib.sha256(f"{run.name}\n{run.started_at}".encode()).hexdigest()[:16],
        "name": run.name,
        "figures": {chart.id: chart.figure for chart in charts if chart.figure},
        "cards": [
            {"path": each.path, "truth": each.truth, "predicted": each.predicted, "probability": each.probability}
            for each in run.predictions
        ],
        "earlier": [],
        "sentences": review_sentences(say("{done} of {total} reviewed, {wrong} wrong labels")),
    }
    return script_json(content)
