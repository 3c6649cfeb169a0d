"""A model asked about every picture of a list, and its answers counted."""

import time
from collections.abc import Sequence
from contextlib import closing

import msgspec

from rigwise.errors import CannotTell
from rigwise.records.bad_picture import BadPicture
from rigwise.records.exported import Answer, PredictReport, confusion_counts, measured_accuracy
from rigwise.speech import printable, say
from rigwise.train.predict.listing import Listed
from rigwise.train.predict.predictor import Predictor
from rigwise.train.progress import Progress


def predict(ask: Predictor, pictures: Sequence[Listed], folder: str, progress: Progress) -> PredictReport:
    """What the model says of the pictures.

    Raises:
        CannotTell: none of them can be read.
    """
    began = time.perf_counter()
    answers = _ask_all(ask, pictures, progress)
    seconds = time.perf_counter() - began
    bad = tuple(BadPicture(path=each.path, reason=each.why_not) for each in answers if each.label is None)
    good = tuple(each for each in answers if each.label is not None)
    if not good:
        raise CannotTell(
            say("none of the {count} pictures can be read", count=len(bad)),
            say("the first is {path}: {why}", path=bad[0].path, why=bad[0].reason),
            say("look at that file; rigwise reads JPEG, PNG, WebP and a dozen other formats"),
        )
    known = [each for each in good if each.truth]
    correct = sum(each.label == each.truth for each in known)
    return PredictReport(
        model=folder,
        run=ask.card.run,
        labels=ask.card.labels,
        device=ask.device,
        notes=tuple(ask.notes),
        sureness=ask.card.sureness,
        answers=good,
        bad=bad,
        accuracy=measured_accuracy("folders", correct, len(known)) if known else None,
        confusion=confusion_counts(ask.card.labels, good) if known else None,
        images_per_second=len(answers) / seconds,
    )


def _ask_all(ask: Predictor, pictures: Sequence[Listed], progress: Progress) -> list[Answer]:
    """An answer to each picture, with its truth."""
    progress.begin(say("looking at pictures"), len(pictures))
    answers = []
    try:
        with closing(ask(each.path for each in pictures if not each.why_not)) as found:
            for picture in pictures:
                answer = _missing(picture) if picture.why_not else next(found)
                answers.append(msgspec.structs.replace(answer, truth=picture.truth))
                progress.advance()
    finally:
        progress.end()
    return answers


def _missing(picture: Listed) -> Answer:
    path = printable(picture.path)
    return Answer(path=path, label=None, probability=None, sure=None, why_not=picture.why_not)
