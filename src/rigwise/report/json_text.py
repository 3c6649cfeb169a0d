"""Reports as JSON for other programs. Each object names its schema; a value that is not finite becomes null."""

import re

import msgspec

from rigwise.records.audit import AuditReport, Shown
from rigwise.records.batch import BatchSearch
from rigwise.records.ceilings import CeilingsReport
from rigwise.records.difference import Difference
from rigwise.records.explanation import ExplainReport
from rigwise.records.exported import PredictReport
from rigwise.records.finding import CheckReport
from rigwise.records.knobs import KnobsReport
from rigwise.records.learning_rate import LearningRateSearch
from rigwise.records.recording import RecordReport
from rigwise.records.run import RankFigures, Recommendation, Resumption, RunRecord, TrialCheckpoints, TrialResult
from rigwise.records.smoke import SmokeReport
from rigwise.records.text import TextReview, TextSummary
from rigwise.report.ranks_text import RanksSummary, ranks_summaries
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
    ranks: tuple[RankFigures, ...]
    """Each process of the trials by several."""
    scaling: tuple[RanksSummary, ...]
    """What the ranks of each such trial reached together."""
    recommendation: Recommendation | None
    texts: TextSummary | None
    text_review: TextReview | None
    batch_search: BatchSearch | None
    ceilings: CeilingsReport | None
    model_note: str
    predict_command: str
    checkpoints: tuple[TrialCheckpoints, ...]
    resumptions: tuple[Resumption, ...]
    resume_command: str
    lr_search: LearningRateSearch | None
    knobs: KnobsReport | None
    repeat_command: str
    repeat_note: str
    repeat_equal: bool | None


ACTING = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""What JSON allows unescaped in a string, and a terminal or a browser acts upon."""


def check_json(report: CheckReport) -> str:
    """One JSON object: schema, decision and findings, first cause first."""
    return json_text(report)


def explain_json(report: ExplainReport) -> str:
    """One JSON object: schema, what was asked, every meaning, the first cause first."""
    return json_text(report)


def train_json(run: RunRecord) -> str:
    """One JSON object: schema, rig, check, trials with their accuracies, recommendation."""
    shared = {name: getattr(run, name) for name in TrainReport.__struct_fields__ if hasattr(run, name)}
    accuracies = tuple(
        _accuracy(trial.name, trial.val_correct, trial.val_total)
        for trial in run.trials
        if trial.val_correct is not None and trial.val_total
    )
    return json_text(TrainReport(**shared, accuracies=accuracies, scaling=ranks_summaries(run)))


def audit_json(report: AuditReport) -> str:
    """One JSON object: schema, counts, suspects, shortcuts; without the thumbnails, which are for the page."""
    return json_text(without_thumbnails(report))


def without_thumbnails(report: AuditReport) -> AuditReport:
    """The report with every thumbnail left empty."""

    def bare(shown: Shown) -> Shown:
        return msgspec.structs.replace(shown, thumbnail="")

    suspects = tuple(
        msgspec.structs.replace(each, thumbnail="", other=each.other and bare(each.other)) for each in report.suspects
    )
    shortcuts = tuple(
        msgspec.structs.replace(each, examples=tuple(map(bare, each.examples))) for each in report.shortcuts
    )
    return msgspec.structs.replace(report, suspects=suspects, shortcuts=shortcuts)


def diff_json(difference: Difference) -> str:
    """One JSON object: schema, whether anything changed, and what."""
    return json_text(difference)


def record_json(report: RecordReport) -> str:
    """One JSON object: schema, where the recording is and what it holds."""
    return json_text(report)


def predict_json(report: PredictReport) -> str:
    """One JSON object: schema, an answer to each picture, what could not be read, accuracy where folders tell it."""
    return json_text(report)


def smoke_json(report: SmokeReport) -> str:
    """One JSON object: schema, links, next step."""
    return json_text(report)


def _accuracy(trial: str, correct: int, total: int) -> Accuracy:
    low, high = wilson_interval(correct, total)
    return Accuracy(trial=trial, ratio=correct / total, low_ratio=low, high_ratio=high)


def json_text(report: msgspec.Struct) -> str:
    """One JSON object over several lines; nothing in it acts on a terminal."""
    text = msgspec.json.format(msgspec.json.encode(report), indent=2).decode()
    return ACTING.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
