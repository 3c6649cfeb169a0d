"""Repeating a run: what it needs from the earlier folder, and how the losses compare afterwards."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from rigwise.records.run import Step
from rigwise.speech import say
from rigwise.telemetry.reading import load_run
from rigwise.telemetry.run_folder import RunFolder
from rigwise.train.pictures.picture_ledger import FILE_NAME, PictureLedger, read_picture_lines
from rigwise.train.recipe import read_recipe
from rigwise.train.recipe_sections import Recipe
from rigwise.train.text.ledger import FILE_NAME as TEXTS
from rigwise.train.text.ledger import TextLedger, read_text_lines


class Earlier(msgspec.Struct, frozen=True, kw_only=True):
    """The run to be repeated."""

    folder: Path
    recipe: Recipe
    ledger: PictureLedger | TextLedger
    steps: tuple[Step, ...]
    finished: bool = True
    """False when it was interrupted: its last trial has fewer steps than planned."""

    @property
    def kind(self) -> str:
        """What its samples are, in words."""
        return say("pictures") if isinstance(self.ledger, PictureLedger) else say("documents")


class RepeatNote(msgspec.Struct, frozen=True, kw_only=True):
    """How a repeat compares with the run it repeats."""

    equal: bool | None
    """Bit for bit; None where that is not promised."""
    text: str


def read_earlier(folder: Path) -> Earlier:
    """What a run folder holds for a repeat.

    Raises:
        BadInput: it is not the folder of a training run, or a file it needs is missing or damaged.
    """
    run = load_run(folder)
    recipe = read_recipe(RunFolder(folder).recipe)
    texts = folder / TEXTS
    ledger = read_text_lines(texts) if texts.exists() else read_picture_lines(folder / FILE_NAME)
    return Earlier(folder=folder, recipe=recipe, ledger=ledger, steps=run.steps, finished=run.finished)


def compare_losses(earlier: Iterable[Step], now: Iterable[Step], *, finished: bool = True) -> tuple[bool, str]:
    """Whether every loss of the trials in both runs is bit-equal, and the sentence that says so.

    Of an earlier run that was not finished, the losses it recorded are compared.
    """
    before, after = _losses(earlier), _losses(now)
    shared = [trial for trial in before if trial in after]
    if not shared:
        return False, say("no trial of the earlier run ran again, so nothing can be compared")
    for trial in shared:
        for step, (old, new) in enumerate(zip(before[trial], after[trial], strict=False), start=1):
            if not _equal(old, new):
                values = say("{old} then, {new} now", old=repr(old), new=repr(new))
                return False, say(
                    "losses of {trial} differ from step {step} on: {values}", trial=trial, step=step, values=values
                )
        if len(before[trial]) > len(after[trial]) or (finished and len(before[trial]) < len(after[trial])):
            counts = say("{old} then, {new} now", old=len(before[trial]), new=len(after[trial]))
            return False, say("{trial} has another number of steps: {counts}", trial=trial, counts=counts)
    total = sum(len(before[trial]) for trial in shared)
    return True, say(
        "all {count} losses are bit-equal to the earlier run ({trials})", count=total, trials=", ".join(shared)
    )


def _equal(old: float, new: float) -> bool:
    return old == new or (math.isnan(old) and math.isnan(new))


def _losses(steps: Iterable[Step]) -> dict[str, list[float]]:
    losses: dict[str, list[float]] = defaultdict(list)
    for step in steps:
        losses[step.trial].append(step.loss)
    return losses


def repeat_note(earlier: Earlier, steps: Iterable[Step], changed: Sequence[str], *, on_gpu: bool) -> RepeatNote:
    """How this run compares with the one it repeats; on a GPU, bit-equal losses are not promised."""
    if not earlier.steps and not earlier.finished:
        return RepeatNote(equal=None, text=say("the earlier run was interrupted before its first step"))
    equal, sentence = compare_losses(earlier.steps, steps, finished=earlier.finished)
    if changed:
        count = say(
            "{kind} that are not what they were: {count}, first {first}",
            kind=earlier.kind,
            count=len(changed),
            first=changed[0],
        )
        return RepeatNote(equal=False, text=f"{count}; {sentence}")
    if on_gpu and not equal:
        return RepeatNote(equal=None, text=say("{sentence} (a GPU promises no bit-equal losses)", sentence=sentence))
    return RepeatNote(equal=equal, text=sentence)
