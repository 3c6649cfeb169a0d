"""Reports as JSON for other programs. Each object names its schema; a value that is not finite becomes null."""

import msgspec

from rigwise.records.finding import CheckReport
from rigwise.records.run import Recommendation, RunRecord, TrialResult
from rigwise.records.smoke import SmokeReport
from rigwise.statistics import wilson_interval

TRAIN_SCHEMA = "rigwise.train/1"


class Accuracy(msgspec.Struct, frozen=True, kw_only=True):
    """Validation accuracy of a trial, as ratios of 0 to 1, with its 95 % Wilson interval."""

    trial: str
    ratio: float
    low_ratio: float
    high_ratio: float


class TrainReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `rigwise train --json` prints."""

    schema: str = TRAIN_SCHEMA
    name: str
    folder: str
    started_at: str
    finished: bool
    rig_lines: tuple[str, ...]
    check: CheckReport | None
    model: str
    weights: str
    trials: tuple[TrialResult, ...]
    accuracies: tuple[Accuracy, ...]
    recommendation: Recommendation | None
    repeat_command: str
    repeat_note: str
    repeat_equal: bool | None


def check_json(report: CheckReport) -> str:
    """One JSON object: schema, decision and findings, first cause first."""
    return _text(report)


def train_json(run: RunRecord) -> str:
    """One JSON object: schema, rig, check, trials with their accuracies, recommendation."""
    shared = {name: getattr(run, name) for name in TrainReport.__struct_fields__ if hasattr(run, name)}
    accuracies = tuple(
        _accuracy(trial.name, trial.val_correct, trial.val_total)
        for trial in run.trials
        if trial.val_correct is not None and trial.val_total
    )
    return _text(TrainReport(**shared, accuracies=accuracies))


def smoke_json(report: SmokeReport) -> str:
    """One JSON object: schema, links, next step."""
    return _text(report)


def _accuracy(trial: str, correct: int, total: int) -> Accuracy:
    low, high = wilson_interval(correct, total)
    return Accuracy(trial=trial, ratio=correct / total, low_ratio=low, high_ratio=high)


def _text(report: CheckReport | TrainReport | SmokeReport) -> str:
    return msgspec.json.format(msgspec.json.encode(report), indent=2).decode()
