"""What every chart shares: the chart record, one accent per trial or GPU, Plotly pieces as plain dictionaries.

Colours are names of CSS variables (`--series-1`). The page resolves them, so that light, dark and print each
get their own shade of the same accent. Text from outside goes through `plotly_text`, because Plotly reads tags.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from rigwise.records.run import RunRecord, Step
from rigwise.speech import say

NUM_ACCENTS = 6
"""Okabe-Ito without black (text) and yellow (unreadable on white): M. Okabe and K. Ito, "Color Universal Design"."""
DASHES = ("solid", "dash", "dot", "dashdot")


class Accent(msgspec.Struct, frozen=True):
    """A colour by CSS variable name, and a dash that tells apart what shares a colour."""

    token: str
    dash: str = "solid"


class LegendEntry(msgspec.Struct, frozen=True):
    """One line of a chart's legend; `trial` is set where the reader may switch the line off."""

    label: str
    accent: Accent
    trial: str | None = None


class Chart(msgspec.Struct, frozen=True, kw_only=True):
    """One chart, or why there is none."""

    id: str
    title: str
    summary: str = ""
    """What the chart shows, for those who cannot see it."""
    caption: str = ""
    legend: tuple[LegendEntry, ...] = ()
    figure: dict[str, Any] | None = None
    height_px: int = 300
    why_empty: str = ""


def steps_by_trial(run: RunRecord) -> dict[str, list[Step]]:
    """The steps of each trial, in the order they were run."""
    by_trial: dict[str, list[Step]] = {}
    for step in run.steps:
        by_trial.setdefault(step.trial, []).append(step)
    return by_trial


def trial_accents(run: RunRecord) -> dict[str, Accent]:
    """The accent each trial that has a curve keeps through every chart."""
    with_curves = dict.fromkeys([step.trial for step in run.steps] + [each.trial for each in run.validations])
    return {trial: _accent(position) for position, trial in enumerate(with_curves)}


def target_accents(targets: Iterable[str]) -> dict[str, Accent]:
    """The accent each GPU (or the host) keeps: text colour first, then the accents trials use last."""
    tokens = ["--ink", *(f"--series-{number}" for number in range(NUM_ACCENTS, 0, -1))]
    return {target: Accent(tokens[position % len(tokens)]) for position, target in enumerate(targets)}


def _accent(position: int) -> Accent:
    dash = DASHES[position // NUM_ACCENTS % len(DASHES)]
    return Accent(f"--series-{position % NUM_ACCENTS + 1}", dash)


def trial_legend(accents: Mapping[str, Accent], shown: Iterable[str]) -> tuple[LegendEntry, ...]:
    """Legend entries of the trials a chart shows, each of which the reader may switch off."""
    return tuple(LegendEntry(name, accents[name], trial=name) for name in shown)


def plotly_text(text: str) -> str:
    """`text` as Plotly shows it literally.

    >>> plotly_text("<b>&")
    '&lt;b&gt;&amp;'
    """
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def rounded(values: Iterable[float]) -> list[float | None]:
    """Numbers for a chart: six significant digits, None (a gap) where not finite."""
    return [float(f"{value:.6g}") if math.isfinite(value) else None for value in values]


def line(
    x: Sequence[float | None], y: Sequence[float | None], name: str, accent: Accent, unit: str = "", **options: Any
) -> dict[str, Any]:
    """A Plotly line that shows its values with three digits and their unit; a single point is drawn as a dot."""
    return {
        "type": "scatter",
        "mode": "lines" if len(x) > 1 else "markers",
        "name": plotly_text(name),
        "hovertemplate": f"%{{y:,.3~r}} {unit}",
        "x": x,
        "y": y,
        "line": {"color": accent.token, "dash": accent.dash, "width": 2},
        "marker": {"color": accent.token, "size": 7},
        **options,
    }


def level(height: float, accent: Accent) -> dict[str, Any]:
    """A horizontal line over the whole width of a chart."""
    style = {"color": accent.token, "dash": accent.dash, "width": 1}
    return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": height, "y1": height, "line": style}


def axis(title: str, **options: Any) -> dict[str, Any]:
    """A Plotly axis with its name and unit."""
    return {"title": {"text": title}, **options}


def step_axis(**options: Any) -> dict[str, Any]:
    """The horizontal axis of a chart against training steps."""
    return axis(say("training step"), unifiedhovertitle={"text": say("step {number}", number="%{x:,}")}, **options)
