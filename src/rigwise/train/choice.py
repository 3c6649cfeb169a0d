"""E7: one plain recommendation out of the trials, by a stated rule."""

import math
from collections.abc import Sequence

from rigwise.records.run import Recommendation, TrialResult
from rigwise.speech import say
from rigwise.statistics import Z_95, difference_interval, perplexity
from rigwise.units import percent, significant

NOISE_RATIO = 0.05
"""Speeds closer than this are taken as equal: step times on a shared machine vary by a few percent."""


def recommend(trials: Sequence[TrialResult], no_gpu: str, repeat_command: str) -> Recommendation:
    """Which trial to take, and the one next command.

    The rule: the fastest trial that is not clearly worse than the best one. Of pictures, the 95 % interval of the
    difference of the accuracies reaches zero; of texts, that of the difference of the mean validation losses, whose
    errors are taken between sequences; a loss that is not finite is never taken. Where speeds are within 5 %, the
    earlier trial: it changes less.

    Args:
        trials: all rows of the comparison.
        no_gpu: why no GPU was used, in words; "" when one was.
        repeat_command: what repeats this run; the next command of a run on a GPU.
    """
    full = [trial for trial in trials if _speed(trial) and trial.val_total and math.isfinite(_quality(trial))]
    if not full:
        return Recommendation(trial=None, because=say("No trial ran to the end."), next_step="rigwise check")
    best = max(full, key=_quality)
    as_good = [trial for trial in full if not _clearly_worse(trial, best)]
    chosen = as_good[0]
    for trial in as_good[1:]:
        if _speed(trial) > _speed(chosen) * (1 + NOISE_RATIO):
            chosen = trial
    lines = [_measured(chosen), *(_against(chosen, trial, trial in as_good) for trial in full if trial is not chosen)]
    if no_gpu:
        lines.append(say("Measured on the CPU: this says nothing about a GPU."))
    next_step = "rigwise check" if no_gpu else repeat_command
    return Recommendation(trial=chosen.name, because="\n".join(lines), next_step=next_step)


def _measured(chosen: TrialResult) -> str:
    if chosen.val_loss is not None:
        return say(
            "{speed} tokens/s and a loss of {loss} nats (perplexity {perplexity}) on {total} validation tokens.",
            speed=significant(_speed(chosen)),
            loss=significant(chosen.val_loss),
            perplexity=_perplexity(chosen.val_loss),
            total=f"{chosen.val_total:,}",
        )
    return say(
        "{speed} images/s and {accuracy} accuracy on {total} validation pictures.",
        speed=significant(_speed(chosen)),
        accuracy=percent(_accuracy(chosen)),
        total=chosen.val_total,
    )


def _perplexity(loss: float) -> str:
    value = perplexity(loss)
    return significant(value) if math.isfinite(value) else say("beyond all numbers")


def _against(chosen: TrialResult, other: TrialResult, as_good: bool) -> str:
    """How the chosen trial compares with another one that ran to the end."""
    facts = {
        "ratio": significant(_speed(chosen) / _speed(other)),
        "other": other.name,
        "speed": significant(_speed(other)),
    }
    if other.val_loss is not None:
        facts["loss"] = significant(other.val_loss)
        if as_good:
            return say("{ratio} x the speed of {other} ({speed} tokens/s, loss {loss} nats).", **facts)
        return say("{ratio} x the speed of {other} ({speed} tokens/s, loss {loss} nats, clearly higher).", **facts)
    facts["accuracy"] = percent(_accuracy(other))
    if as_good:
        return say("{ratio} x the speed of {other} ({speed} images/s, {accuracy} accuracy).", **facts)
    return say("{ratio} x the speed of {other} ({speed} images/s, {accuracy} accuracy, clearly lower).", **facts)


def _quality(trial: TrialResult) -> float:
    """Larger is better."""
    return _accuracy(trial) if trial.val_loss is None else -trial.val_loss


def _accuracy(trial: TrialResult) -> float:
    return (trial.val_correct or 0) / (trial.val_total or 1)


def _clearly_worse(trial: TrialResult, best: TrialResult) -> bool:
    """Whether the best trial's lead is more than chance, taking the two for independent (they share the samples)."""
    if trial.val_loss is not None and best.val_loss is not None:
        return trial.val_loss - best.val_loss > Z_95 * _error_of_difference(trial, best)
    counts = [(each.val_correct or 0, each.val_total or 0) for each in (best, trial)]
    return difference_interval(counts[0], counts[1])[0] > 0


def _error_of_difference(trial: TrialResult, best: TrialResult) -> float:
    """Standard error of the difference of two mean losses, nats; infinite where it is not known."""
    errors = (trial.val_loss_standard_error, best.val_loss_standard_error)
    return math.hypot(*(math.inf if error is None else error for error in errors))


def _speed(trial: TrialResult) -> float:
    return trial.tokens_per_second or trial.images_per_second or 0.0
