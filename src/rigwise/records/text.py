"""What a run on texts leaves beside its trials."""

import msgspec

from rigwise.records.bad_picture import BadPicture


class TextSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What DATA holds and how it was split."""

    root: str
    counts: dict[str, int]
    """split -> number of documents."""
    characters: dict[str, int]
    """split -> characters of them."""
    split_rule: str
    """How the split was made, in words."""
    bad: tuple[BadPicture, ...] = ()
    """Files and records that cannot be used, and why."""
    notes: tuple[str, ...] = ()
    """Copies, and other things to know before trusting a loss."""


class ScoredDocument(msgspec.Struct, frozen=True, kw_only=True):
    """One document held back, and how well the model foretold it."""

    name: str
    """`notes.jsonl:17`, printable."""
    loss: float
    """Mean cross-entropy of its tokens, nats."""
    num_tokens: int
    """Tokens the model was asked for."""
    excerpt: str
    """Where it begins."""
    before: str
    """What comes before the token that surprised most."""
    truth: str
    """That token."""
    predicted: str
    """What the model took for likeliest there."""
    truth_probability: float
    """What it gave the truth, 0 to 1."""


class Continuation(msgspec.Struct, frozen=True, kw_only=True):
    """What the model goes on with, always the likeliest token."""

    name: str
    """Of the document that the beginning is from."""
    prompt: str
    text: str


class TextReview(msgspec.Struct, frozen=True, kw_only=True):
    """What the recommended model says of the texts held back."""

    trial: str
    split: str
    num_tokens: int
    """Tokens it was asked for."""
    loss: float
    """Their mean cross-entropy, nats."""
    unigram_loss: float
    """What knowing only how often each token comes in train would reach, nats."""
    documents: tuple[ScoredDocument, ...]
    """The worst first."""
    continuations: tuple[Continuation, ...] = ()
