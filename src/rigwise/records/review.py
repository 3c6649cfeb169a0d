"""What a person answered on a review page; the page of an audit and the page of a run export the same form."""

import msgspec

REVIEW_SCHEMA = "rigwise.review/1"
WRONG, RIGHT = "wrong", "right"


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a person said of one suspicion."""

    path: str
    """Relative to DATA, printable."""
    answer: str = ""
    """`wrong`, `right`, or "" for none yet."""
    kind: str = "label"
    """The suspicion, as in `Suspect`; the page of a run asks about labels only."""
    sha256: str = ""
    """Of the file that was looked at; "" where the page does not know it."""


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """All answers of a person."""

    schema: str = REVIEW_SCHEMA
    run: str = ""
    answers: tuple[Answer, ...] = ()

    def accepted(self, kind: str, path: str) -> bool:
        """Whether the person said that this suspicion does not hold."""
        return any(each.answer == RIGHT and each.kind == kind and each.path == path for each in self.answers)


NO_ANSWERS = Review()
