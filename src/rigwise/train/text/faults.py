"""What makes DATA unfit for a language model: each fault one clear error, all its cases at once."""

from collections.abc import Collection, Sequence
from pathlib import Path

from rigwise.errors import BadInput
from rigwise.records.bad_picture import BadPicture
from rigwise.speech import printable, say
from rigwise.train.text.layout import TextLayout
from rigwise.units import percent

NUM_LISTED = 10
"""How many bad files or records an error lists."""


def must_be_mostly_good(root: Path, bad: Sequence[BadPicture], num_usable: int, max_bad_ratio: float) -> None:
    """Stop when more than `max_bad_ratio` (0 to 1) of the files and records cannot be used."""
    total = len(bad) + num_usable
    if len(bad) <= max_bad_ratio * total:
        return
    shown = bad[:NUM_LISTED]
    raise BadInput(
        say(
            "{bad} of {count} files and records in {root} are no usable texts ({share})",
            bad=len(bad),
            count=total,
            root=printable(root),
            share=percent(len(bad) / total),
        ),
        say(
            "at most {limit} may be; the first {shown}:\n{listed}",
            limit=percent(max_bad_ratio),
            shown=len(shown),
            listed="\n".join(f"  {entry.path}: {entry.reason}" for entry in shown),
        ),
        say("replace or remove them, then run the same command again"),
    )


def must_hold_documents(root: Path, layout: TextLayout, distinct: Collection[str], num_empty: int) -> None:
    """Stop when there are not two different documents: one to train, one to validate."""
    if len(distinct) > 1:
        return
    if distinct:
        why = say("all its documents say the same, or the only one is too short to be cut in two")
    elif num_empty:
        why = say("documents without anything to learn: {count}", count=num_empty)
    else:
        why = say("text files found: {count}", count=sum(map(len, layout.files.values())))
    raise BadInput(
        say("too little text in {root}", root=printable(root)),
        why,
        say("give a text, a folder of texts, or JSONL records with a text, or a prompt and a completion"),
    )


def must_have_splits(root: Path, splits: Collection[str]) -> None:
    """Stop when there is nothing to learn from or nothing to validate with."""
    for split in ("train", "val"):
        if split not in splits:
            raise BadInput(
                say("no usable document in {split} of {root}", split=split, root=printable(root)),
                say("a model learns from train and is measured on val"),
                say("add documents, or remove {split} so that documents are split off train", split=split),
            )
