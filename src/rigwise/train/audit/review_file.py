"""What a person answered on a review page: read from the file the page exports, kept in the run folder, and used.

The page of an audit and the page of a run export the same form. An answer is `wrong` (the suspicion holds: the picture
is left out from then on) or `right` (it does not: not suspected again). Must not import torch.
"""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from rigwise.errors import BadInput
from rigwise.records.review import REVIEW_SCHEMA, Answer, Review
from rigwise.speech import say
from rigwise.telemetry.run_folder import write_text

FILE_NAME = "review.json"
"""In a run folder."""
MAX_REVIEW_BYTES = 64 * 2**20
"""An answer takes some 200 bytes; whatever is larger was named by mistake."""


def read_review(path: Path) -> Review:
    """The answers in an exported file.

    Raises:
        BadInput: it cannot be read, or is no review.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_REVIEW_BYTES + 1)
        review = msgspec.json.decode(content, type=Review)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _unreadable(path, getattr(error, "strerror", None) or str(error)) from error
    if review.schema != REVIEW_SCHEMA:
        raise _unreadable(path, say("its schema is {found}, not {known}", found=review.schema, known=REVIEW_SCHEMA))
    return review


def review_of(run_folder: Path) -> Review:
    """The answers that a run was made with.

    Raises:
        BadInput: they are there, and cannot be read.
    """
    path = run_folder / FILE_NAME
    return read_review(path) if path.is_file() else Review()


def leave_review(folder: Path, review: Review) -> None:
    """Write review.json into a run folder, unless nothing was answered.

    Raises:
        CannotWrite: the folder cannot be written.
    """
    if review.answers:
        write_text(folder / FILE_NAME, msgspec.json.format(msgspec.json.encode(review), indent=2).decode() + "\n")


def merged(reviews: Iterable[Review]) -> Review:
    """All answers together; of two about the same suspicion, the later one counts."""
    answers: dict[tuple[str, str], Answer] = {}
    for review in reviews:
        answers |= {(each.kind, each.path): each for each in review.answers if each.answer}
    return Review(answers=tuple(answers.values()))


def _unreadable(path: Path, why: str) -> BadInput:
    return BadInput(
        say("cannot read the answers in {path}", path=path),
        why,
        say("give the JSON file that the review page exports"),
    )
