"""E7: one plain recommendation out of the trials, by a stated rule."""

from collections.abc import Sequence

from rigwise.records.run import Recommendation, TrialResult
from rigwise.speech import say
from rigwise.statistics import wilson_interval
from rigwise.units import percent, significant

NOISE_RATIO = 0.05
"""Speeds closer than this are taken as equal: step times on a shared machine vary by a few percent."""


def recommend(trials: Sequence[TrialResult], no_gpu: str) -> Recommendation:
    """Which trial to take.

    The rule: the fastest trial whose accuracy is not clearly below the best one's (the upper end of its 95 % interval
    reaches the best accuracy measured). Where speeds are within 5 %, the earlier trial: it changes less.
    """
    full = [trial for trial in trials if trial.images_per_second and trial.val_total]
    if not full:
        return Recommendation(trial=None, because=say("no trial ran to the end"), next_step=say("rigwise check"))
    best_accuracy = max(_accuracy(trial) for trial in full)
    as_good = [trial for trial in full if _upper(trial) >= best_accuracy]
    chosen = as_good[0]
    for trial in as_good[1:]:
        if _speed(trial) > _speed(chosen) * (1 + NOISE_RATIO):
            chosen = trial
    next_step = say("rigwise check") if no_gpu else say("rigwise train DATA --recipe RECIPE")
    return Recommendation(trial=chosen.name, because=_because(chosen, full, no_gpu), next_step=next_step)


def _because(chosen: TrialResult, full: Sequence[TrialResult], no_gpu: str) -> str:
    sentences = [
        say(
            "{name}: {speed} images/s, accuracy {accuracy} on {total} validation pictures",
            name=chosen.name,
            speed=significant(_speed(chosen)),
            accuracy=percent(_accuracy(chosen)),
            total=chosen.val_total,
        )
    ]
    for other in full:
        if other is not chosen:
            ratio = significant(_speed(chosen) / _speed(other))
            accuracy = percent(_accuracy(other))
            sentences.append(
                say("{ratio} x the speed of {other} ({accuracy})", ratio=ratio, other=other.name, accuracy=accuracy)
            )
    if no_gpu:
        sentences.append(say("measured on the CPU only, so it says nothing about a GPU: {why}", why=no_gpu))
    return "; ".join(sentences)


def _accuracy(trial: TrialResult) -> float:
    return (trial.val_correct or 0) / (trial.val_total or 1)


def _upper(trial: TrialResult) -> float:
    return wilson_interval(trial.val_correct or 0, trial.val_total or 0)[1]


def _speed(trial: TrialResult) -> float:
    return trial.images_per_second or 0.0
