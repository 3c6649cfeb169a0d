"""Memory, utilisation, temperature and power against time, above the training steps that caused them."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from statistics import fmean
from typing import Any

import msgspec

from rigwise.knowledge.metrics import Metric
from rigwise.records.run import RunRecord, Sample
from rigwise.report.comparison import memory_unit
from rigwise.report.figures import (
    DASHES,
    Accent,
    Chart,
    LegendEntry,
    axis,
    line,
    plotly_text,
    rounded,
    steps_by_trial,
    target_accents,
    trial_legend,
)
from rigwise.speech import say

ROW_HEIGHT_PX = 120
ROW_GAP_PX = 22
MARGIN_PX = 60
"""What the page's script leaves above and below the rows."""
MAX_TARGETS = 8
"""A metric of more GPUs is drawn as its mean and its highest, as that of CPU cores always is."""
LONG_RUN_SECONDS = 600
"""Above this the time axis is in minutes."""
ROW_ORDER = (
    ("gpu", "bytes"),
    ("gpu", "ratio"),
    ("gpu", "celsius"),
    ("gpu", "watts"),
    ("gpu", "mhz"),
    ("host", "cores"),
    ("host", "ratio"),
    ("host", "bytes"),
    ("host", "bytes_per_second"),
)
NOT_LINES = ("bits", "seconds")
"""Units of metrics that are no curve to look at: bit masks, and what sampling itself cost."""


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of one target over time, in the base unit."""

    row: tuple[str, str]
    """Where it is drawn: a member of `ROW_ORDER`, or a row of its own."""
    target: str
    label: str
    times: tuple[float, ...]
    values: tuple[float, ...]


def timeline_chart(run: RunRecord, accents: Mapping[str, Accent], metrics: Mapping[str, Metric]) -> Chart:
    """Every sampled metric, one row for each quantity, on one time axis with the training steps."""
    title = say("Timeline")
    lines = _lines(run.samples, metrics)
    if not lines:
        return Chart(id="timeline", title=title, why_empty=say("No telemetry was recorded during this run."))
    ends = [sample.at for sample in run.samples] + [step.at for step in run.steps]
    unit, seconds = ("min", 60.0) if max(ends) > LONG_RUN_SECONDS else ("s", 1.0)
    rows = _rows(lines)
    colours = _colours(lines)
    several = [each for own in rows if len(own) > 1 for each in _with_accents(own, colours)]
    return Chart(
        id="timeline",
        title=title,
        summary=say("Telemetry over time: {lines}.", lines=", ".join(each.label for each in lines)),
        caption=say("Shaded: the time each trial trained, in its colour. All rows share the time axis."),
        legend=(
            *trial_legend(accents, steps_by_trial(run)),
            *(LegendEntry(each.label, accent) for each, accent in several),
        ),
        figure={
            "data": [*_step_traces(run, accents, seconds), *_row_traces(rows, colours, seconds)],
            "layout": {
                "shapes": _bands(run, accents, seconds),
                "hoversubplots": "axis",
                "xaxis": _time_axis(unit),
                "yaxis": axis(say("step"), domain=_domain(len(rows), len(rows)), rangemode="tozero"),
                **_row_axes(rows),
            },
        },
        height_px=ROW_HEIGHT_PX * (len(rows) + 1) + MARGIN_PX,
    )


def _time_axis(unit: str) -> dict[str, Any]:
    hover_title = {"text": f"%{{x:,.4~r}} {unit}"}
    return axis(say("time since start ({unit})", unit=unit), anchor="free", position=0, unifiedhovertitle=hover_title)


def _row_axes(rows: Sequence[Sequence[Line]]) -> dict[str, Any]:
    """The vertical axis of each row; `yaxis` is the row of the steps, so these start at `yaxis2`."""
    axes = {}
    for position, own in enumerate(rows):
        name, unit, _ = _quantity(own)
        limits = {"range": [0, 102]} if unit == "%" and _largest(own) <= 1 else {"rangemode": "tozero"}
        row_title = f"{name}<br>({unit})" if unit else name
        axes[f"yaxis{position + 2}"] = axis(row_title, domain=_domain(position, len(rows)), **limits)
    return axes


def _row_traces(rows: Sequence[Sequence[Line]], colours: Mapping[str, Accent], seconds: float) -> list[dict[str, Any]]:
    traces = []
    for position, own in enumerate(rows):
        _, unit, scale = _quantity(own)
        for each, accent in _with_accents(own, colours):
            times = rounded(at / seconds for at in each.times)
            values = rounded(value / scale for value in each.values)
            traces.append(line(times, values, each.label, accent, unit, yaxis=f"y{position + 2}"))
    return traces


def _domain(position: int, last: int) -> list[float]:
    """Bottom and top of a row, as shares of the plot's height; position 0 is the topmost."""
    height = 1 / (last + 1)
    gap = height * ROW_GAP_PX / ROW_HEIGHT_PX
    return [round((last - position) * height, 4), round((last - position + 1) * height - gap, 4)]


def _step_traces(run: RunRecord, accents: Mapping[str, Accent], seconds: float) -> list[dict[str, Any]]:
    """The number of the step against time, for each trial."""
    traces = []
    for trial, steps in steps_by_trial(run).items():
        times, numbers = rounded(step.at / seconds for step in steps), rounded(step.step for step in steps)
        own = line(times, numbers, trial, accents[trial], meta={"trial": trial})
        traces.append({**own, "hovertemplate": say("step {number}", number="%{y:,}")})
    return traces


def _bands(run: RunRecord, accents: Mapping[str, Accent], seconds: float) -> list[dict[str, Any]]:
    """A pale band from the start of each trial's first step to the end of its last."""
    bands = []
    for trial, steps in steps_by_trial(run).items():
        begin, end = rounded(at / seconds for at in (steps[0].at - steps[0].step_seconds, steps[-1].at))
        edges = {"x0": begin, "x1": end, "yref": "paper", "y0": 0, "y1": 1}
        fill = {"fillcolor": accents[trial].token, "opacity": 0.08, "line": {"width": 0}, "layer": "below"}
        bands.append({"type": "rect", **edges, **fill, "name": trial})
    return bands


def _lines(samples: Sequence[Sample], metrics: Mapping[str, Metric]) -> list[Line]:
    by_metric: dict[str, dict[str, list[Sample]]] = {}
    for sample in samples:
        is_line = sample.metric not in metrics or metrics[sample.metric].unit not in NOT_LINES
        if is_line and math.isfinite(sample.value):
            by_metric.setdefault(sample.metric, {}).setdefault(sample.target, []).append(sample)
    gpu_metrics = [metric for metric in by_metric if metric in metrics and metrics[metric].target == "gpu"]
    gpus = {target for metric in gpu_metrics for target in by_metric[metric]}
    lines: list[Line] = []
    for metric, by_target in by_metric.items():
        several = len(gpus if metric in gpu_metrics else by_target) > 1
        lines += _metric_lines(metric, by_target, metrics.get(metric), several=several)
    return lines


def _metric_lines(
    metric: str, by_target: Mapping[str, list[Sample]], known: Metric | None, *, several: bool
) -> list[Line]:
    """The lines of one metric; with `several` targets in play, each is named."""
    row = ("gpu" if known.target == "gpu" else "host", str(known.unit)) if known else (metric, "")
    label = known.label if known else metric
    if len(by_target) > MAX_TARGETS or (known and known.target == "cpu"):
        return _mean_and_highest(row, label, by_target)
    return [
        Line(
            row=row,
            target=target,
            label=f"{label}, {_short(target)}" if several else label,
            times=tuple(sample.at for sample in own),
            values=tuple(sample.value for sample in own),
        )
        for target, own in by_target.items()
    ]


def _short(target: str) -> str:
    """A UUID cut to what tells two cards apart by eye; other targets as they are."""
    return target[: len("GPU-12345678")] if target.startswith("GPU-") else target


def _mean_and_highest(row: tuple[str, str], label: str, by_target: Mapping[str, Sequence[Sample]]) -> list[Line]:
    """Two lines instead of one per target; samples of the same second are taken together."""
    by_second: dict[int, list[float]] = {}
    for sample in chain.from_iterable(by_target.values()):
        by_second.setdefault(int(sample.at), []).append(sample.value)
    times = tuple(float(second) for second in sorted(by_second))
    groups = [by_second[second] for second in sorted(by_second)]
    mean_label = say("{label}, mean of {count}", label=label, count=len(by_target))
    highest_label = say("{label}, highest of {count}", label=label, count=len(by_target))
    return [
        Line(row=row, target="all", label=mean_label, times=times, values=tuple(map(fmean, groups))),
        Line(row=row, target="all", label=highest_label, times=times, values=tuple(map(max, groups))),
    ]


def _rows(lines: Sequence[Line]) -> list[list[Line]]:
    """Lines by quantity, GPU first; a metric the table does not know gets a row of its own, last."""
    rows: dict[tuple[str, str], list[Line]] = {}
    for each in lines:
        rows.setdefault(each.row, []).append(each)
    order = {row: position for position, row in enumerate(ROW_ORDER)}
    return [rows[row] for row in sorted(rows, key=lambda row: order.get(row, len(order)))]


def _colours(lines: Sequence[Line]) -> dict[str, Accent]:
    """One colour per GPU through all rows, text colour first; the machine around this run is muted."""
    gpus = dict.fromkeys(each.target for each in lines if each.row[0] == "gpu")
    return target_accents(gpus) | {"host": Accent("--muted")}


def _with_accents(own: Sequence[Line], colours: Mapping[str, Accent]) -> list[tuple[Line, Accent]]:
    """The lines of a row in the colour of their target; several metrics of one target differ by their dash."""
    seen: Counter[str] = Counter()
    lines = []
    for each in own:
        token = colours.get(each.target, Accent("--ink")).token
        lines.append((each, Accent(token, DASHES[seen[token] % len(DASHES)])))
        seen[token] += 1
    return lines


def _quantity(own: Sequence[Line]) -> tuple[str, str, float]:
    """What a row shows, the unit it is shown in, and how much of the base unit one of that is."""
    memory_name, memory_size = memory_unit(_largest(own))
    known: dict[tuple[str, str], tuple[str, str, float]] = {
        ("gpu", "bytes"): (say("VRAM"), memory_name, memory_size),
        ("gpu", "ratio"): (say("GPU use"), "%", 0.01),
        ("gpu", "celsius"): (say("temperature"), "°C", 1),
        ("gpu", "watts"): (say("power"), "W", 1),
        ("gpu", "mhz"): (say("clock"), "MHz", 1),
        ("host", "cores"): (say("CPU"), say("cores"), 1),
        ("host", "ratio"): (say("core use"), "%", 0.01),
        ("host", "bytes"): (say("RAM"), memory_name, memory_size),
        ("host", "bytes_per_second"): (say("disk"), f"{memory_name}/s", memory_size),
    }
    return known.get(own[0].row, (plotly_text(own[0].label), "", 1))


def _largest(own: Sequence[Line]) -> float:
    return max(value for each in own for value in each.values)
