"""How documents become batches, in words: what is cut off, what is padding, and what sees what."""

from collections.abc import Iterator

from rigwise.speech import say
from rigwise.train.text.tokeniser import Tokeniser
from rigwise.train.text_lab import TextLab
from rigwise.units import percent


def batching_notes(lab: TextLab, tokeniser: Tokeniser) -> Iterator[str]:
    """What to know about the batches of a run before trusting its loss."""
    yield say(
        "tokens by {tokeniser}, vocabulary {size}", tokeniser=tokeniser.name, size=f"{tokeniser.vocabulary_size:,}"
    )
    if lab.material.packed:
        yield _packed(lab)
    else:
        yield from _bucketed(lab)
    if note := _sampled(lab):
        yield note


def _packed(lab: TextLab) -> str:
    length = f"{lab.material.context:,}"
    if lab.build().keeps_apart:
        return say("documents are packed into sequences of {length} tokens; none sees another", length=length)
    return say(
        "documents are packed into sequences of {length} tokens; this model cannot keep them apart, so each sees the "
        "end of the one before",
        length=length,
    )


def _bucketed(lab: TextLab) -> Iterator[str]:
    context = lab.material.context
    table = lab.tables["train"]
    stream = lab.material.stream("train", lab.recipe.training.batch_size)
    padding = stream.padding()
    yield say(
        "each document is a sequence, like lengths together: {ratio} of the tokens are padding, {before} without",
        ratio=percent(padding.ratio),
        before=percent(padding.as_drawn_ratio),
    )
    lengths = table.document_lengths
    cut = int((lengths - 1 > context).sum())
    if cut:
        lost = float((lengths - 1 - context).clip(0).sum() / (lengths - 1).sum())
        yield say(
            "train documents longer than {context} tokens, cut off there: {count} ({share} of all tokens)",
            context=context,
            count=cut,
            share=percent(lost),
        )
    dropped = table.num_documents - stream.arrangement.num_per_epoch
    if dropped:
        yield say("train documents whose prompt alone fills the context, not used: {count}", count=dropped)


def _sampled(lab: TextLab) -> str:
    """That a validation asks for a part of the tokens only, where it does."""
    most = lab.recipe.text.val_tokens
    there = int((lab.tables["val"].document_lengths - 1).sum())
    if there <= most:
        return ""
    return say("a validation asks for {most} of {there} tokens, evenly spaced", most=f"{most:,}", there=f"{there:,}")
