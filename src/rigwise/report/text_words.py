"""What a language model made of the texts held back, in the words of the terminal and of the page."""

from collections.abc import Iterator

from rigwise.records.text import Continuation, TextReview
from rigwise.report.comparison import number
from rigwise.speech import say

MOST_CHARACTERS = 160
"""Shown of a continuation on a terminal."""


def text_review_lines(review: TextReview) -> Iterator[tuple[str, str, str]]:
    """Label, sentence and style of the lines about what was learned."""
    yield say("learned"), learned_words(review), ""
    for each in review.continuations[:1]:
        yield say("it goes on"), continuation_words(each), ""


def learned_words(review: TextReview) -> str:
    """Whether more was learned than how often each token comes."""
    facts = {"loss": number(review.loss), "unigram": number(review.unigram_loss), "split": review.split}
    if review.loss < review.unigram_loss:
        return say(
            "more than how often each token comes: a loss of {loss} nats on {split}, where frequencies alone reach "
            "{unigram}",
            **facts,
        )
    return say(
        "no more than how often each token comes: a loss of {loss} nats on {split}, frequencies alone reach {unigram}",
        **facts,
    )


def continuation_words(each: Continuation) -> str:
    """A beginning and what the model made of it, on one line."""
    prompt, text = (" ".join(part.split()) for part in (each.prompt, each.text))
    return say("{prompt} | {text}", prompt=prompt[-MOST_CHARACTERS:], text=text[:MOST_CHARACTERS])
