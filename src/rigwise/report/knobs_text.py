"""Peak memory and knobs as people read them: predicted beside measured, and what each knob costs and gains."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from rigwise.records.knobs import KnobResult, KnobsReport, Peak, TrialPeak
from rigwise.report.text import indented, printable
from rigwise.speech import say
from rigwise.units import memory, significant


class KnobRow(NamedTuple):
    """One line of the table of knobs."""

    name: str
    step_time: str
    """Times that of a step without it, and its interval."""
    predicted: str
    measured: str
    """Peak of its memory, and its change."""
    kept: str
    because: str
    is_kept: bool


def knob_rows(report: KnobsReport) -> tuple[KnobRow, ...]:
    """Every knob: those that were compared in their order, then those that could not be."""
    return tuple(_row(knob) for knob in sorted(report.knobs, key=lambda knob: bool(knob.why_not)))


def _row(knob: KnobResult) -> KnobRow:
    if knob.why_not:
        kept = say("in the recipe") if knob.in_recipe else say("not compared")
        return KnobRow(knob.name, "", "", "", kept, knob.why_not, False)
    after = knob.predicted_after.total_bytes if knob.predicted_after else None
    return KnobRow(
        name=knob.name,
        step_time=_times(knob),
        predicted=_changed(after, knob.predicted_ratio),
        measured=_changed(knob.measured_after_bytes, knob.measured_ratio),
        kept=_kept(knob),
        because="; ".join(filter(None, (knob.because, _difference(knob)))),
        is_kept=knob.kept and knob.same_training,
    )


def _kept(knob: KnobResult) -> str:
    if not knob.same_training and not knob.in_recipe:
        return say("your choice")
    if knob.in_recipe:
        return say("in the recipe") if knob.kept else say("in the recipe, not worth it")
    return say("worth it") if knob.kept else say("no")


def _times(knob: KnobResult) -> str:
    ratios = (knob.step_time_ratio, knob.step_time_low_ratio, knob.step_time_high_ratio)
    if None in ratios:
        return ""
    ratio, low, high = (significant(each) for each in ratios if each is not None)
    return say("{ratio} ({low}-{high})", ratio=ratio, low=low, high=high)


def _changed(num_bytes: int | None, ratio: float | None) -> str:
    """A peak and how it changed; "" where it is not known."""
    if num_bytes is None:
        return ""
    change = "" if ratio is None else f" ({100 * (ratio - 1):+.0f} %)"
    return memory(num_bytes) + change


def _difference(knob: KnobResult) -> str:
    if knob.loss_difference_ratio is None or knob.gradient_difference_ratio is None:
        return ""
    if knob.loss_difference_ratio == knob.gradient_difference_ratio == 0:
        return say("the first losses and gradient are bit-equal to those without it")
    return say(
        "against the trial without it, losses differ by {losses} and the first gradient by {gradient} of their size",
        losses=_small(knob.loss_difference_ratio),
        gradient=_small(knob.gradient_difference_ratio),
    )


def _small(ratio: float) -> str:
    return f"{ratio:.1g}"


class PeakRow(NamedTuple):
    """One trial's peak."""

    trial: str
    predicted: str
    categories: tuple[str, ...]
    """Parameters, gradients, optimiser, activations, temporary."""
    allocated: str
    reserved: str
    why_not: str


def peak_rows(report: KnobsReport) -> tuple[PeakRow, ...]:
    """Every full trial: the prediction, its parts, and what was measured."""
    return tuple(_peak_row(peak) for peak in report.peaks)


def _peak_row(peak: TrialPeak) -> PeakRow:
    found = peak.predicted
    return PeakRow(
        trial=peak.trial,
        predicted=memory(found.total_bytes) if found else "",
        categories=tuple(map(memory, _parts(found))) if found else ("",) * len(category_heads()),
        allocated=_changed(peak.allocated_bytes, None),
        reserved=_changed(peak.reserved_bytes, None),
        why_not=peak.why_not,
    )


def category_heads() -> tuple[str, ...]:
    """The parts of a predicted peak, in order."""
    return (say("parameters"), say("gradients"), say("optimiser"), say("activations"), say("temporary"))


def _parts(peak: Peak) -> tuple[int, ...]:
    return (
        peak.parameters_bytes,
        peak.gradients_bytes,
        peak.optimizer_bytes,
        peak.activations_bytes,
        peak.temporary_bytes,
    )


def unseen_words() -> str:
    """What a prediction leaves out."""
    return say(
        "predicted without a GPU, a lower bound: the CUDA context (some hundred MiB), cuDNN's work space, rounding and "
        "fragmentation are not in it"
    )


def knobs_lines(report: KnobsReport) -> Iterator[tuple[str, str, str]]:
    """Label, sentence and style of each line about memory."""
    label = say("peak memory")
    for row in peak_rows(report):
        yield label, _peak_words(row), ""
        label = ""
    if any(peak.predicted for peak in report.peaks):
        yield "", unseen_words(), "dim"
    if report.allocator:
        yield say("allocator"), report.allocator, ""


def _peak_words(row: PeakRow) -> str:
    if row.why_not:
        return say("{trial}: not predicted: {why}", trial=row.trial, why=row.why_not)
    parts = ", ".join(f"{head} {size}" for head, size in zip(category_heads(), row.categories, strict=True))
    words = say("{trial}: {peak} predicted ({parts})", trial=row.trial, peak=row.predicted, parts=parts)
    if not row.allocated:
        return words
    return say(
        "{words}; measured {allocated} allocated, {reserved} reserved",
        words=words,
        allocated=row.allocated,
        reserved=row.reserved,
    )


def knob_lines(report: KnobsReport) -> Iterator[RenderableType]:
    """The knobs that were compared as a table; below it why each was kept or not, and why others were not compared."""
    rows = knob_rows(report)
    compared = [row for row in rows if row.step_time]
    if compared:
        yield _table(compared, report.trial)
    for row in rows:
        words = say("{knob}: {because}", knob=row.name, because=row.because)
        if not row.step_time:
            words = say("{knob} not compared: {why}", knob=row.name, why=row.because)
        yield indented(words, style="dim")


def _table(rows: Sequence[KnobRow], trial: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 1), header_style="dim")
    table.add_column("  " + say("knob, on {trial}", trial=printable(trial)), overflow="fold")
    table.add_column(f"{say('step time')}\n{say('times (95 %)')}", justify="right")
    table.add_column(f"{say('peak')}\n{say('predicted')}", justify="right")
    if any(row.measured for row in rows):
        table.add_column(f"{say('peak')}\n{say('measured')}", justify="right")
    table.add_column(say("kept?"), overflow="fold")
    for row in rows:
        measured = (row.measured,) if any(each.measured for each in rows) else ()
        cells = (row.step_time, row.predicted, *measured, row.kept)
        table.add_row(Text("  " + printable(row.name)), *map(Text, cells), style="bold" if row.is_kept else "")
    return table


def knobs_parts(report: KnobsReport) -> dict[str, Any]:
    """What the section of the page shows."""
    return {
        "knobs": report,
        "peak_rows": peak_rows(report),
        "category_heads": category_heads(),
        "unseen_words": unseen_words(),
        "knob_rows": knob_rows(report),
        "peaks_are_measured": any(knob.measured_after_bytes is not None for knob in report.knobs),
    }
