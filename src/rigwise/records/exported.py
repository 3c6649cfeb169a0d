"""What a run's exported model says of itself (model.json), and what it answers about pictures."""

from collections.abc import Sequence

import msgspec

from rigwise.records.bad_picture import BadPicture
from rigwise.statistics import wilson_interval

MODEL_SCHEMA = "rigwise.model/1"
PREDICT_SCHEMA = "rigwise.predict/1"
PICTURES = "pictures"
"""The kind of a model that tells pictures apart."""


class MeasuredAccuracy(msgspec.Struct, frozen=True, kw_only=True):
    """Right answers on some pictures, as counts and as ratios of 0 to 1."""

    pictures: str
    """Which ones: `test`, `val`, or `folders` of their classes."""
    correct: int
    total: int
    ratio: float
    low_ratio: float
    """Lower bound of the 95 % Wilson interval."""
    high_ratio: float


def measured_accuracy(pictures: str, correct: int, total: int) -> MeasuredAccuracy:
    """The accuracy of at least one answer, with its interval."""
    low, high = wilson_interval(correct, total)
    return MeasuredAccuracy(
        pictures=pictures, correct=correct, total=total, ratio=correct / total, low_ratio=low, high_ratio=high
    )


class Sureness(msgspec.Struct, frozen=True, kw_only=True):
    """From which probability on a class counts as possible, calibrated on the validation pictures."""

    threshold_ratio: float | None
    """0 to 1; None where there were too few validation pictures to calibrate it."""
    coverage_ratio: float
    """Share of pictures like those of validation whose true class is among the possible ones, at least."""
    num_pictures: int
    """Validation pictures it was calibrated on."""


class ModelCard(msgspec.Struct, frozen=True, kw_only=True):
    """model.json: everything a program needs to use the model beside it."""

    schema: str = MODEL_SCHEMA
    kind: str = PICTURES
    labels: tuple[str, ...]
    """In the order of the model's answers."""
    image_size: int
    """Pixels along each side of what the program takes."""
    crop: str
    interpolation: str
    mean: tuple[float, float, float]
    """Subtracted inside the program, of colours from 0 to 1."""
    std: tuple[float, float, float]
    """Divided by inside the program."""
    takes: str
    gives: str
    network: str
    """timm's name, which weights.safetensors fit."""
    weights: str
    """Where training started from, in words."""
    run: str
    """Name of the run folder."""
    trial: str
    precision: str
    """Of the training; the program computes in fp32."""
    program: str
    """Name of the exported program; "" where there is none."""
    why_no_program: str = ""
    proof: str
    """How the program was proved equal to the trained model, in words."""
    accuracy: MeasuredAccuracy
    """Of the model in fp32, on the split nobody chose by."""
    sureness: Sureness
    files: dict[str, str]
    """SHA-256 of each file beside this one, by name."""
    rigwise_version: str
    versions: dict[str, str]
    """What it was made with: python, torch, timm."""
    usage: tuple[str, ...]
    """Lines of Python that ask the program, without rigwise."""


class Guess(msgspec.Struct, frozen=True, kw_only=True):
    """One class and how probable the model finds it."""

    label: str
    probability: float


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What the model says of one picture."""

    path: str
    """As it was given, printable; "" for pixels and bytes."""
    label: str | None
    """The most probable class; None where the picture cannot be read."""
    probability: float | None
    """Of that class, 0 to 1."""
    sure: bool | None
    """Whether it is the only possible class; None where the model cannot tell."""
    possible: tuple[str, ...] = ()
    """Every possible class, most probable first; none where it is like no validation picture."""
    top: tuple[Guess, ...] = ()
    """The most probable classes, as many as were asked for."""
    truth: str = ""
    """The class whose folder it lies in; "" where none is known."""
    why_not: str = ""
    """Why it cannot be read."""


class PredictReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `rigwise predict --json` prints."""

    schema: str = PREDICT_SCHEMA
    model: str
    """The folder it was read from."""
    run: str
    labels: tuple[str, ...]
    device: str
    notes: tuple[str, ...]
    """Why it is another device than could be expected, and the like."""
    sureness: Sureness
    answers: tuple[Answer, ...]
    """Of every readable picture, in the order given."""
    bad: tuple[BadPicture, ...]
    """Pictures that cannot be read."""
    accuracy: MeasuredAccuracy | None
    """Where pictures lie in folders of their classes."""
    confusion: tuple[tuple[int, ...], ...] | None
    """Counts, true class by row and answer by column."""
    images_per_second: float


def confusion_counts(labels: Sequence[str], answers: Sequence[Answer]) -> tuple[tuple[int, ...], ...]:
    """Counts of true class (row) against answer (column) of the answers whose truth is known."""
    place = {label: number for number, label in enumerate(labels)}
    counts = [[0] * len(labels) for _ in labels]
    for answer in answers:
        if answer.truth and answer.label is not None:
            counts[place[answer.truth]][place[answer.label]] += 1
    return tuple(map(tuple, counts))
