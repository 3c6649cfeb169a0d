"""The search for a learning rate as people read it: one line, and the curve."""

from collections.abc import Iterator

from rigwise.records.learning_rate import LearningRateSearch
from rigwise.report.figures import Accent, Chart, LegendEntry, axis, line, rounded
from rigwise.speech import say

NUM_LAST = 5
"""Points at the end that the suggestion leaves out too."""
CURVE, EACH = Accent("--series-1"), Accent("--muted")


def lr_lines(search: LearningRateSearch) -> Iterator[tuple[str, str, str]]:
    """Label, sentence and style of each line about it."""
    yield say("learning rate"), suggestion_words(search), ""


def suggestion_words(search: LearningRateSearch) -> str:
    """What the sweep suggests, or why nothing, and how it ended."""
    facts = {"count": len(search.points), "ended": search.ended}
    if search.suggestion is None or search.steepest is None:
        return say("none suggested: {why}; {count} rates tried, {ended}", why=search.why_not, **facts)
    return say(
        "{suggestion}, the middle of the longest fall; the loss falls fastest at {steepest}; {count} rates tried, "
        "{ended}",
        suggestion=f"{search.suggestion:.2g}",
        steepest=f"{search.steepest:.2g}",
        **facts,
    )


def lr_chart(search: LearningRateSearch) -> Chart:
    """Loss against the learning rate: every step faint, the smoothed loss strong, the suggestion a line."""
    if not search.points:
        return Chart(id="learning-rate-curve", title=say("Loss by learning rate"), why_empty=search.ended)
    rates: list[float | None] = [float(f"{point.learning_rate:.6g}") for point in search.points]
    raw = line(
        rates, rounded(point.loss for point in search.points), say("each step"), EACH, opacity=0.5, hoverinfo="skip"
    )
    raw["line"] = {**raw["line"], "width": 1}
    smooth = line(rates, rounded(point.smoothed_loss for point in search.points), say("smoothed"), CURVE)
    marks = [] if search.suggestion is None else [_upright(search.suggestion)]
    return Chart(
        id="learning-rate-curve",
        title=say("Loss by learning rate"),
        summary=suggestion_words(search),
        caption=say("Strong: exponential mean of the losses so far. Upright: the suggestion."),
        legend=(LegendEntry(say("each step"), EACH), LegendEntry(say("smoothed"), CURVE)),
        figure={
            "data": [raw, smooth],
            "layout": {
                "xaxis": axis(say("learning rate"), type="log", exponentformat="power"),
                "yaxis": axis(say("training loss"), range=_worth_seeing(search)),
                "shapes": marks,
            },
        },
    )


def _worth_seeing(search: LearningRateSearch) -> list[float]:
    """From the lowest loss to somewhat above the smoothed ones before the last rise, which would flatten the rest."""
    lowest = min(point.loss for point in search.points)
    highest = max(point.smoothed_loss for point in search.points[:-NUM_LAST] or search.points)
    margin = 0.2 * max(highest - lowest, 1e-6)
    return [lowest - margin, highest + margin]


def _upright(rate: float) -> dict[str, object]:
    style = {"color": "--ink", "width": 1, "dash": "dash"}
    return {"type": "line", "x0": rate, "x1": rate, "yref": "paper", "y0": 0, "y1": 1, "line": style}
