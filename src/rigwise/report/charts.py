"""Charts against training steps: loss, validation accuracy, step time."""

import math
from collections.abc import Sequence

from rigwise.records.run import RunRecord, Step, Validation
from rigwise.report.comparison import accuracy, number, time_unit
from rigwise.report.figures import (
    Accent,
    Chart,
    LegendEntry,
    axis,
    level,
    line,
    rounded,
    step_axis,
    steps_by_trial,
    trial_legend,
)
from rigwise.speech import say
from rigwise.statistics import percentile, smooth, wilson_interval

LEAST_KEPT, MOST_KEPT = 0.5, 0.9
"""What a moving average keeps of its past: an average over 2 to 10 steps."""


def loss_chart(run: RunRecord, accents: dict[str, Accent]) -> Chart:
    """Training loss against steps: every step faint, its moving average strong."""
    by_trial = steps_by_trial(run)
    title = say("Training loss")
    if not by_trial:
        return Chart(id="loss", title=title, why_empty=say("No trial completed a training step."))
    if not any(math.isfinite(step.loss) for step in run.steps):
        return Chart(id="loss", title=title, why_empty=say("The loss was not finite in any step."))
    traces = []
    for trial, steps in by_trial.items():
        numbers: list[float | None] = [step.step for step in steps]
        losses = [step.loss for step in steps]
        meta = {"trial": trial}
        raw = line(numbers, rounded(losses), trial, accents[trial], opacity=0.28, hoverinfo="skip", meta=meta)
        raw["line"] = {**raw["line"], "width": 1}
        traces += [raw, line(numbers, rounded(smoothed(losses)), trial, accents[trial], meta=meta)]
    return Chart(
        id="loss",
        title=title,
        summary=_loss_summary(by_trial),
        caption=_loss_caption(by_trial),
        legend=trial_legend(accents, by_trial),
        figure={
            "data": traces,
            "layout": {
                "xaxis": step_axis(),
                "yaxis": axis(say("cross-entropy loss (nats)"), rangemode="tozero"),
            },
        },
    )


def _loss_summary(by_trial: dict[str, list[Step]]) -> str:
    ends = [
        say("{trial}: {first} to {last} in {steps} steps", trial=trial, first=first, last=last, steps=len(steps))
        for trial, steps in by_trial.items()
        for first, last in [(number(steps[0].loss), number(smoothed([step.loss for step in steps])[-1]))]
    ]
    return say("Training loss by step. {trials}.", trials="; ".join(ends))


def smoothed(losses: Sequence[float]) -> list[float]:
    """The moving average of a curve, over some tenth of it: one that keeps w of its past spans 1 / (1 - w) steps."""
    return smooth(losses, weight=min(MOST_KEPT, max(LEAST_KEPT, 1 - 10 / max(1, len(losses)))))


def _loss_caption(by_trial: dict[str, list[Step]]) -> str:
    caption = say("Faint: every step. Strong: exponential moving average over a tenth of the steps, 2 to 10.")
    for trial, steps in by_trial.items():
        broken = [step.step for step in steps if not math.isfinite(step.loss)]
        if broken:
            words = say(
                "{trial}: the loss is not finite in {count} of {total} steps, first at step {step}.",
                trial=trial,
                count=len(broken),
                total=len(steps),
                step=broken[0],
            )
            caption += " " + words
    return caption


def accuracy_chart(run: RunRecord, accents: dict[str, Accent]) -> Chart:
    """Validation accuracy against steps, with 95 % intervals, and what a constant answer would reach."""
    measured = [each for each in run.validations if each.total]
    title = say("Validation accuracy")
    if not measured:
        return Chart(id="accuracy", title=title, why_empty=say("No trial reached a validation."))
    by_trial: dict[str, list[Validation]] = {}
    for each in measured:
        by_trial.setdefault(each.trial, []).append(each)
    traces = [_accuracy_line(trial, points, accents[trial]) for trial, points in by_trial.items()]
    legend = trial_legend(accents, by_trial)
    layout = {
        "xaxis": step_axis(rangemode="tozero"),
        "yaxis": axis(say("pictures right (%)"), range=[0, 101]),
    }
    constant = _constant_answer_ratio(run)
    if constant is not None:
        baseline = Accent("--muted", "dot")
        height = round(constant * 100, 2)
        layout["shapes"] = [level(height, baseline)]  # type: ignore[assignment]
        legend += (LegendEntry(say("always the commonest class: {level} %", level=number(height)), baseline),)
    return Chart(
        id="accuracy",
        title=title,
        summary=_accuracy_summary(by_trial),
        caption=say("Bars are 95 % Wilson intervals over the validation pictures."),
        legend=legend,
        figure={"data": traces, "layout": layout},
    )


def _accuracy_line(trial: str, points: Sequence[Validation], accent: Accent) -> dict[str, object]:
    ratios = [point.correct / point.total for point in points]
    bounds = [wilson_interval(point.correct, point.total) for point in points]
    bars = {
        "type": "data",
        "symmetric": False,
        "array": rounded((high - ratio) * 100 for ratio, (_, high) in zip(ratios, bounds, strict=True)),
        "arrayminus": rounded((ratio - low) * 100 for ratio, (low, _) in zip(ratios, bounds, strict=True)),
        "color": accent.token,
        "thickness": 1.2,
        "width": 4,
    }
    steps: list[float | None] = [point.step for point in points]
    heights = rounded(ratio * 100 for ratio in ratios)
    return line(steps, heights, trial, accent, "%", mode="lines+markers", error_y=bars, meta={"trial": trial})


def _constant_answer_ratio(run: RunRecord) -> float | None:
    """Accuracy of always answering the commonest validation class."""
    counts = run.pictures.counts.get("val", {}) if run.pictures else {}
    total = sum(counts.values())
    return max(counts.values()) / total if total else None


def _accuracy_summary(by_trial: dict[str, list[Validation]]) -> str:
    ends = [
        say(
            "{trial}: {accuracy} % at step {step}",
            trial=trial,
            step=last.step,
            accuracy=accuracy(last.correct, last.total),
        )
        for trial, points in by_trial.items()
        for last in [points[-1]]
    ]
    return say("Validation accuracy by step with 95 % intervals. {trials}.", trials="; ".join(ends))


def step_time_chart(run: RunRecord, accents: dict[str, Accent]) -> Chart:
    """Time of each step, and the part of it spent waiting for data."""
    by_trial = steps_by_trial(run)
    title = say("Step time")
    if not by_trial:
        return Chart(id="step-time", title=title, why_empty=say("No trial completed a training step."))
    ceiling_seconds = 1.3 * max(percentile([step.step_seconds for step in steps], 95) for steps in by_trial.values())
    unit, scale = time_unit(ceiling_seconds)
    traces = []
    for trial, steps in by_trial.items():
        numbers: list[float | None] = [step.step for step in steps]
        whole = rounded(step.step_seconds / scale for step in steps)
        wait = rounded(step.data_seconds / scale for step in steps)
        meta = {"trial": trial}
        waiting = Accent(accents[trial].token, "dot")
        traces.append(line(numbers, whole, trial, accents[trial], unit, meta=meta))
        wait_name = say("{trial}, waiting for data", trial=trial)
        traces.append(line(numbers, wait, wait_name, waiting, unit, meta=meta))
    return Chart(
        id="step-time",
        title=title,
        summary=_step_time_summary(by_trial),
        caption=_step_time_caption(by_trial, ceiling_seconds),
        legend=trial_legend(accents, by_trial),
        figure={
            "data": traces,
            "layout": {
                "xaxis": step_axis(),
                "yaxis": axis(say("time ({unit})", unit=unit), range=[0, rounded([ceiling_seconds / scale])[0]]),
            },
        },
    )


def _step_time_caption(by_trial: dict[str, list[Step]], ceiling_seconds: float) -> str:
    caption = say("Solid: the whole step. Dotted: the part of it spent waiting for data.")
    above = [step.step_seconds for steps in by_trial.values() for step in steps if step.step_seconds > ceiling_seconds]
    if above:
        words = say(
            "Steps above the chart: {count}, the longest {seconds} s.", count=len(above), seconds=number(max(above))
        )
        caption += " " + words
    return caption


def _step_time_summary(by_trial: dict[str, list[Step]]) -> str:
    medians = []
    for trial, steps in by_trial.items():
        unit, scale = time_unit(percentile([step.step_seconds for step in steps], 50))
        median = number(percentile([step.step_seconds for step in steps], 50) / scale)
        medians.append(say("{trial}: median {median} {unit}", trial=trial, median=median, unit=unit))
    return say("Time per training step. {trials}.", trials="; ".join(medians))
