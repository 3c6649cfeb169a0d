"""How well texts held back are foretold, against training steps."""

import math
from typing import Any

from rigwise.records.run import RunRecord, Validation
from rigwise.report.comparison import number
from rigwise.report.figures import Accent, Chart, LegendEntry, axis, level, line, rounded, step_axis, trial_legend
from rigwise.speech import say


def val_loss_chart(run: RunRecord, accents: dict[str, Accent]) -> Chart:
    """Validation loss against steps, and what knowing the frequencies of tokens alone would reach."""
    title = say("Validation loss")
    by_trial: dict[str, list[Validation]] = {}
    for each in run.validations:
        if each.total and math.isfinite(each.loss):
            by_trial.setdefault(each.trial, []).append(each)
    if not by_trial:
        return Chart(id="val-loss", title=title, why_empty=say("No trial reached a validation."))
    traces = [_line(trial, points, accents[trial]) for trial, points in by_trial.items()]
    legend = trial_legend(accents, by_trial)
    layout: dict[str, Any] = {
        "xaxis": step_axis(rangemode="tozero"),
        "yaxis": axis(say("cross-entropy of a token (nats)"), rangemode="tozero"),
    }
    if run.text_review:
        baseline, height = Accent("--muted", "dot"), run.text_review.unigram_loss
        layout["shapes"] = [level(height, baseline)]
        words = say("frequencies of tokens alone: {loss} nats", loss=number(height))
        legend += (LegendEntry(words, baseline),)
    return Chart(
        id="val-loss",
        title=title,
        summary=_summary(by_trial),
        caption=say("Mean over the tokens asked for; its exponential is the perplexity."),
        legend=legend,
        figure={"data": traces, "layout": layout},
    )


def _line(trial: str, points: list[Validation], accent: Accent) -> dict[str, Any]:
    steps: list[float | None] = [point.step for point in points]
    losses = rounded(point.loss for point in points)
    return line(steps, losses, trial, accent, say("nats"), mode="lines+markers", meta={"trial": trial})


def _summary(by_trial: dict[str, list[Validation]]) -> str:
    ends = [
        say("{trial}: {loss} nats at step {step}", trial=trial, loss=number(points[-1].loss), step=points[-1].step)
        for trial, points in by_trial.items()
    ]
    return say("Validation loss by step. {trials}.", trials="; ".join(ends))
