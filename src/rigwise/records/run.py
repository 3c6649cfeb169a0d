"""What a run leaves behind, as records: the tables of run.sqlite and what the report reads."""

import msgspec

from rigwise.records.audit import AuditReport
from rigwise.records.bad_picture import BadPicture
from rigwise.records.batch import BatchSearch
from rigwise.records.ceilings import CeilingsReport
from rigwise.records.finding import CheckReport
from rigwise.records.knobs import KnobsReport
from rigwise.records.learning_rate import LearningRateSearch
from rigwise.records.text import TextReview, TextSummary


class RankFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One process of a trial by several. None means not measured."""

    trial: str
    rank: int
    device: str
    rows: int
    """Its share of each batch, in samples."""
    alone_seconds: float
    """Mean time of a step of its rows, loading included, while it waits for no other rank."""
    data_seconds: float
    """Mean time of a step that it waited for its loader."""
    peak_reserved_bytes: int | None = None
    memory_total_bytes: int | None = None


class TrialResult(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the comparison. None means not measured; `not_run` says why."""

    name: str
    """`cpu one batch`, `cuda one batch`, `fp32`, `bf16`, ..."""
    device: str
    precision: str
    batch_size: int
    image_size: int
    steps: int
    """Optimiser steps that ran to the end."""
    not_run: str | None = None
    """Why this trial did not run, in words; None when it did."""
    step_mean_seconds: float | None = None
    step_p95_seconds: float | None = None
    images_per_second: float | None = None
    sequence_length: int | None = None
    """Most tokens of a sequence; of texts, as all the fields down to `num_epochs`."""
    samples_per_second: float | None = None
    tokens_per_second: float | None = None
    """Padding not counted."""
    val_loss: float | None = None
    """Mean cross-entropy of a validation token after the last step, nats; perplexity is its exponential."""
    val_loss_standard_error: float | None = None
    num_tokens: int | None = None
    """Tokens trained on, padding not counted."""
    num_epochs: float | None = None
    """How often the trial went through train."""
    data_wait_ratio: float | None = None
    """Share of the step spent waiting for the loader, 0 to 1."""
    peak_allocated_bytes: int | None = None
    peak_reserved_bytes: int | None = None
    memory_total_bytes: int | None = None
    gpu_utilization_ratio: float | None = None
    temperature_celsius: float | None = None
    power_draw_watts: float | None = None
    val_correct: int | None = None
    val_total: int | None = None
    num_ranks: int = 1
    """Processes that took each step together."""
    note: str = ""
    """`forward and backward agree within 1e-3`, or an out-of-memory account."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One optimiser step. Times are seconds; `at` is seconds since the run began."""

    trial: str
    step: int
    at: float
    step_seconds: float
    data_seconds: float
    loss: float


class Validation(msgspec.Struct, frozen=True, kw_only=True):
    """Accuracy on the validation split after a number of steps."""

    trial: str
    step: int
    at: float
    loss: float
    correct: int
    total: int


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One telemetry value. Metric names and units are rows of knowledge/metrics.csv."""

    at: float
    """Seconds since the run began."""
    metric: str
    target: str
    """GPU UUID, `cpu3`, `host` or `process`."""
    value: float


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened at one moment: out of memory, a skipped image, validation."""

    at: float
    kind: str
    text: str


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """One picture, what it is labelled and what the model said."""

    path: str
    """Relative to DATA, printable."""
    truth: str
    predicted: str
    probability: float
    """Of the predicted class."""
    truth_probability: float
    loss: float
    thumbnail: str
    """data: URI of a small JPEG."""


class PictureSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What DATA holds and how it was split."""

    root: str
    classes: tuple[str, ...]
    counts: dict[str, dict[str, int]]
    """split -> class -> number of pictures."""
    split_rule: str
    """How the split was made, in words."""
    bad: tuple[BadPicture, ...] = ()
    notes: tuple[str, ...] = ()
    """Imbalance, duplicates across splits, and other things to know before trusting the accuracy."""


class Confusion(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of truth (row) against prediction (column), for one split and trial."""

    trial: str
    split: str
    classes: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]


class Recommendation(msgspec.Struct, frozen=True, kw_only=True):
    """Which trial to take, why, and one next command."""

    trial: str | None
    because: str
    """What it reached, then how it compares, one sentence a line."""
    next_step: str


class TrialCheckpoints(msgspec.Struct, frozen=True, kw_only=True):
    """What checkpoints of one trial took, over all processes that trained it."""

    trial: str
    device: str
    """Type of the device it ran on: `cpu` or `cuda`."""
    num_saved: int
    num_failed: int
    """Not written: no space, or refused."""
    last_step: int
    """Step the last one was saved after; 0 where none was."""
    size_bytes: int
    """Of the last one."""
    seconds: float
    """Spent saving, in no step's time."""


class Resumption(msgspec.Struct, frozen=True, kw_only=True):
    """An interrupted run went on in another process."""

    at: float
    """Seconds since the run began, the time between the processes left out."""
    trial: str
    """That was under way; "" where every trial had ended."""
    step: int
    """Of it, after which it went on."""
    interrupted_at_step: int
    """Its last recorded step; those after `step` were taken again."""
    text: str
    """The same in one sentence, with what could not be used."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What a run was asked for beside its recipe: what resumes it does that too."""

    find_batch: bool = False
    find_lr: bool = False
    ceilings: bool = False
    ranks: int = 0
    """Processes that take each step together; 0 where one trains alone."""
    knobs: bool = False
    repeats: str = ""
    """Folder of the run it repeats; "" where it repeats none."""


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a report shows of one run; read back from the run folder, also after a kill -9."""

    name: str
    folder: str
    started_at: str
    """UTC, ISO 8601."""
    finished: bool
    """False when the run was interrupted: the report says so first."""
    rigwise_version: str
    rig_lines: tuple[str, ...]
    """The rig in at most four lines."""
    check: CheckReport | None
    pictures: PictureSummary | None
    texts: TextSummary | None = None
    """What DATA is where it is texts."""
    model: str
    weights: str
    """Which pretrained weights were used, in words; never silently random."""
    recipe_toml: str
    trials: tuple[TrialResult, ...] = ()
    steps: tuple[Step, ...] = ()
    validations: tuple[Validation, ...] = ()
    ranks: tuple[RankFigures, ...] = ()
    """Each process of the trials by several."""
    samples: tuple[Sample, ...] = ()
    events: tuple[Event, ...] = ()
    predictions: tuple[Prediction, ...] = ()
    """The first 40, worst first."""
    confusion: Confusion | None = None
    text_review: TextReview | None = None
    """What the recommended language model says of the texts held back."""
    recommendation: Recommendation | None = None
    audit: AuditReport | None = None
    """What is suspicious about the pictures, and the recommended model on swapped backgrounds."""
    batch_search: BatchSearch | None = None
    """How the batch size was found, where it was searched."""
    ceilings: CeilingsReport | None = None
    """What bounds the recommended trial, and which levers are worth it, where that was measured."""
    model_note: str = ""
    """What the run left for other programs, in words."""
    predict_command: str = ""
    """What asks its model about other pictures; "" where it left none that can be asked."""
    checkpoints: tuple[TrialCheckpoints, ...] = ()
    """What they took, trial by trial."""
    resumptions: tuple[Resumption, ...] = ()
    """In their order; empty for a run that was never interrupted, or not resumed."""
    asked: Asked = Asked()
    resume_command: str = ""
    """What goes on with this run, should it be interrupted; "" where it keeps no checkpoints."""
    lr_search: LearningRateSearch | None = None
    """How the learning rate was found, where it was searched."""
    knobs: KnobsReport | None = None
    """The peak of every full trial, predicted beside measured, and what the knobs cost and gain."""
    repeat_command: str = ""
    """What repeats this run tomorrow."""
    repeat_note: str = ""
    """For a repeat: how it compares with the run it repeats, in words."""
    repeat_equal: bool | None = None
    """For a repeat: whether it was one, bit for bit; None on a GPU, where that is not promised."""
