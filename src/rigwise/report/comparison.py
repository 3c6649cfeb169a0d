"""The comparison of trials as rows and columns of text, shared by the terminal and the page."""

import math
from collections.abc import Callable, Iterable

import msgspec

from rigwise.records.run import RunRecord, TrialResult
from rigwise.speech import say
from rigwise.statistics import Z_95, perplexity, wilson_interval
from rigwise.units import GIB, MIB, significant


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One trial: what it was, and why it did not run, if it did not."""

    trial: str
    detail: str
    """Device, steps and picture size."""
    note: str = ""
    not_run: str | None = None
    recommended: bool = False


class Column(msgspec.Struct, frozen=True):
    """One measurement over all rows; the unit is in the head, "" is a cell that was not measured."""

    head: str
    unit: str
    cells: tuple[str, ...]


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Trials side by side. Columns that no trial measured are named, not drawn."""

    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    not_measured: tuple[str, ...]


def compare(run: RunRecord) -> Comparison:
    """Every trial of the run, one row each, in the order they were run."""
    trials = (*run.trials, *_interrupted(run))
    columns = _columns(trials, of_texts=run.texts is not None)
    recommended = run.recommendation.trial if run.recommendation else None
    return Comparison(
        rows=tuple(_row(trial, recommended) for trial in trials),
        columns=tuple(column for column in columns if any(column.cells)),
        not_measured=tuple(column.head for column in columns if not any(column.cells)),
    )


def why_no_gpu(run: RunRecord) -> str:
    """Why no training ran on a GPU, in words; "" when some did, or when that is not known yet."""
    elsewhere = [trial for trial in run.trials if trial.device != "cpu"]
    if any(trial.not_run is None and trial.steps > 1 for trial in elsewhere):
        return ""
    return next((trial.not_run for trial in elsewhere if trial.not_run), "")


def accuracy(correct: int, total: int) -> str:
    """A proportion with its 95 % interval, in percent.

    >>> accuracy(164, 200)
    '82.0 (76.1-86.7)'
    """
    low, high = wilson_interval(correct, total)
    ratio = correct / total if total else math.nan
    return f"{number(ratio * 100)} ({number(low * 100)}-{number(high * 100)})"


def number(value: float) -> str:
    """`value` with three significant digits; said in words when it is not finite."""
    return significant(value) if math.isfinite(value) else say("not finite")


def memory_unit(largest_bytes: float) -> tuple[str, int]:
    """The unit a column or axis of memory is written in, and its bytes."""
    return ("GiB", GIB) if largest_bytes >= GIB else ("MiB", MIB)


def time_unit(largest_seconds: float) -> tuple[str, float]:
    """The unit a column or axis of step times is written in, and its seconds."""
    return ("s", 1.0) if largest_seconds >= 1 else ("ms", 1e-3)


def _interrupted(run: RunRecord) -> Iterable[TrialResult]:
    """Trials that left steps but no result: the run ended in the middle of them."""
    known = {trial.name for trial in run.trials}
    last = {step.trial: step.step for step in run.steps if step.trial not in known}
    for name, step in last.items():
        why = say("it was interrupted after step {step}", step=step)
        yield TrialResult(name=name, device="", precision="", batch_size=0, image_size=0, steps=step, not_run=why)


def _row(trial: TrialResult, recommended: str | None) -> Row:
    parts = [trial.device]
    if trial.num_ranks > 1:
        parts.append(say("{count} ranks", count=trial.num_ranks))
    if trial.steps:
        parts.append(say("1 step") if trial.steps == 1 else say("{steps} steps", steps=f"{trial.steps:,}"))
    if trial.image_size:
        parts.append(f"{trial.image_size} px")
    if trial.sequence_length:
        parts.append(say("{count} tokens", count=f"{trial.sequence_length:,}"))
    if trial.num_epochs is not None:
        parts.append(say("{epochs} of an epoch", epochs=number(trial.num_epochs)))
    return Row(
        trial=trial.name,
        detail=" · ".join(part for part in parts if part),
        note=trial.note,
        not_run=trial.not_run,
        recommended=trial.name == recommended,
    )


def _columns(trials: tuple[TrialResult, ...], *, of_texts: bool) -> tuple[Column, ...]:
    def column(head: str, unit: str, value: Callable[[TrialResult], float | None], scale: float = 1) -> Column:
        values = [None if trial.not_run else value(trial) for trial in trials]
        return Column(head, unit, tuple("" if each is None else number(each / scale) for each in values))

    batches = tuple("" if trial.not_run else f"{trial.batch_size:,}" for trial in trials)
    step_unit, step_scale = time_unit(_largest(trial.step_mean_seconds for trial in trials))
    memory, memory_scale = memory_unit(_largest(trial.peak_reserved_bytes for trial in trials))
    return (
        Column(say("batch"), say("sequences") if of_texts else say("images"), batches),
        column(say("step mean"), step_unit, lambda trial: trial.step_mean_seconds, step_scale),
        column(say("step p95"), step_unit, lambda trial: trial.step_p95_seconds, step_scale),
        column(say("speed"), say("tokens/s"), lambda trial: trial.tokens_per_second)
        if of_texts
        else column(say("speed"), say("img/s"), lambda trial: trial.images_per_second),
        column(say("peak allocated"), memory, lambda trial: trial.peak_allocated_bytes, memory_scale),
        column(say("peak reserved"), memory + _of_total(trials), lambda trial: trial.peak_reserved_bytes, memory_scale),
        column(say("GPU"), "%", lambda trial: trial.gpu_utilization_ratio, 0.01),
        column(say("temp"), "°C", lambda trial: trial.temperature_celsius),
        column(say("power"), "W", lambda trial: trial.power_draw_watts),
        column(say("data wait"), "%", lambda trial: trial.data_wait_ratio, 0.01),
        *(_learned(trials) if of_texts else ()),
        Column(
            say("next token right") if of_texts else say("val accuracy"),
            say("% (95 %)"),
            tuple(_accuracy_cell(trial) for trial in trials),
        ),
    )


def _learned(trials: tuple[TrialResult, ...]) -> tuple[Column, ...]:
    """How well the texts held back were foretold."""
    losses = [None if trial.not_run else trial.val_loss for trial in trials]
    return (
        Column(say("val loss"), say("nats (95 %)"), tuple(_loss_cell(trial) for trial in trials)),
        Column(say("perplexity"), "", tuple("" if loss is None else number(perplexity(loss)) for loss in losses)),
    )


def _loss_cell(trial: TrialResult) -> str:
    if trial.not_run or trial.val_loss is None:
        return ""
    if trial.val_loss_standard_error is None:
        return number(trial.val_loss)
    spread = Z_95 * trial.val_loss_standard_error
    return f"{number(trial.val_loss)} ({number(trial.val_loss - spread)}-{number(trial.val_loss + spread)})"


def _largest(values: Iterable[float | None]) -> float:
    return max((value for value in values if value is not None), default=0)


def _of_total(trials: tuple[TrialResult, ...]) -> str:
    """` of 24.0` when every trial that says so ran on a card of the same size."""
    totals = {trial.memory_total_bytes for trial in trials} - {None}
    largest = _largest(totals)
    shared_unit = memory_unit(largest) == memory_unit(_largest(trial.peak_reserved_bytes for trial in trials))
    if len(totals) != 1 or not shared_unit:
        return ""
    return say(" of {total}", total=number(largest / memory_unit(largest)[1]))


def _accuracy_cell(trial: TrialResult) -> str:
    if trial.not_run or trial.val_correct is None or not trial.val_total:
        return ""
    return accuracy(trial.val_correct, trial.val_total)
