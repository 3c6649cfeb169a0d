"""What a person should look at: the documents the recommended model foretold worst, and how it goes on by itself."""

from collections import defaultdict
from collections.abc import Iterator

import torch

from rigwise.records.text import Continuation, ScoredDocument, TextReview
from rigwise.speech import printable
from rigwise.train.full_trial import Trained
from rigwise.train.text.scoring import Surprise, TextScores, continued
from rigwise.train.text.text_set import Document
from rigwise.train.text.tokeniser import Tokeniser
from rigwise.train.text.tokens import TokenTable
from rigwise.train.text_lab import TextLab

NUM_REVIEWED = 20
NUM_CONTINUED = 3
PROMPT_TOKENS, CONTINUED_TOKENS = 32, 48
"""Of a continuation. Our choice: a line to read and a line to judge."""
EXCERPT_TOKENS, BEFORE_TOKENS = 160, 40
"""Shown of a document, and before its least expected token."""
FEWEST_TOKENS = 8
"""A document with fewer has no mean loss worth ranking. Our choice."""

Judged = tuple[int, float, int, Surprise]
"""Document, mean loss, tokens asked for, the least expected token."""


def review_texts(lab: TextLab, chosen: Trained, tokeniser: Tokeniser) -> TextReview:
    """The worst documents held back first, and continuations of the beginnings of others."""
    split = lab.material.held_back
    scores = chosen.review
    assert isinstance(scores, TextScores)
    documents = getattr(lab.texts, split)
    table = lab.tables[split]
    ranked = sorted(_by_document(scores), key=lambda each: -each[1])
    return TextReview(
        trial=chosen.result.name,
        split=split,
        num_tokens=scores.num_answers,
        loss=scores.mean_loss,
        unigram_loss=unigram_loss(lab.tables["train"], table, lab.vocabulary_size),
        documents=tuple(_scored(tokeniser, table, documents[each[0]], each) for each in ranked[:NUM_REVIEWED]),
        continuations=tuple(_continuations(lab, chosen, tokeniser, documents, table)),
    )


def _by_document(scores: TextScores) -> Iterator[Judged]:
    """Those with enough tokens, all where none has."""
    losses: dict[int, float] = defaultdict(float)
    counts: dict[int, int] = defaultdict(int)
    worst: dict[int, Surprise] = {}
    rows = zip(scores.pieces, scores.losses.tolist(), scores.counts.tolist(), scores.surprises, strict=True)
    for piece, loss, count, surprise in rows:
        if count == 0:
            continue
        losses[piece.document] += loss
        counts[piece.document] += count
        before = worst.get(piece.document)
        if before is None or surprise.truth_probability < before.truth_probability:
            worst[piece.document] = surprise
    fewest = min(FEWEST_TOKENS, max(counts.values(), default=0))
    for document, count in counts.items():
        if count >= fewest:
            yield document, losses[document] / count, count, worst[document]


def _scored(tokeniser: Tokeniser, table: TokenTable, document: Document, judged: Judged) -> ScoredDocument:
    index, loss, num_tokens, surprise = judged
    tokens = table.document(index)[0].tolist()
    before = tokens[max(0, surprise.place - BEFORE_TOKENS) : surprise.place]
    return ScoredDocument(
        name=printable(document.name),
        loss=loss,
        num_tokens=num_tokens,
        excerpt=tokeniser.decode(tokens[:EXCERPT_TOKENS]),
        before=tokeniser.decode(before),
        truth=_token(tokeniser, surprise.truth),
        predicted=_token(tokeniser, surprise.predicted),
        truth_probability=surprise.truth_probability,
    )


def _token(tokeniser: Tokeniser, token: int) -> str:
    """A token as people read it; the end of a text has no letters."""
    return "<end>" if token == tokeniser.end else tokeniser.decode([token])


def _continuations(
    lab: TextLab, chosen: Trained, tokeniser: Tokeniser, documents: tuple[Document, ...], table: TokenTable
) -> Iterator[Continuation]:
    """How the model goes on after the prompts, or else the beginnings, of a few documents it never saw."""
    built = lab.build()
    built.model.load_state_dict(chosen.weights)
    model = built.model.to(lab.device.torch_device).eval()
    with lab.device.using(), torch.random.fork_rng(devices=[]):
        for index in range(min(NUM_CONTINUED, len(documents))):
            prompt = int(table.num_before_learned[index])
            tokens = table.document(index, 0, 1 + (prompt or PROMPT_TOKENS))[0].tolist()
            found = continued(model, tokens, CONTINUED_TOKENS, lab.material.context, lab.device)
            yield Continuation(
                name=printable(documents[index].name), prompt=tokeniser.decode(tokens), text=tokeniser.decode(found)
            )


def unigram_loss(train: TokenTable, held_back: TokenTable, vocabulary_size: int) -> float:
    """Mean cross-entropy in nats of the held-back tokens under how often each comes in train, each counted once more.

    A model that learned nothing but frequencies reaches it; one below it has learned something of the order.
    """
    frequencies = torch.ones(vocabulary_size, dtype=torch.float64) + _counts(train, vocabulary_size)
    asked = _counts(held_back, vocabulary_size)
    return float(-(asked * (frequencies / frequencies.sum()).log()).sum() / asked.sum().clamp_min(1))


def _counts(table: TokenTable, vocabulary_size: int) -> torch.Tensor:
    """How often each token is to be learned."""
    counts = torch.zeros(vocabulary_size, dtype=torch.float64)
    for index in range(table.num_documents):
        tokens, learned = table.document(index)
        counts += torch.from_numpy(tokens[learned]).bincount(minlength=vocabulary_size)
    return counts
