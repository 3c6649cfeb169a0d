"""From what the user asked for to a recipe and data that can be used. No torch here: bad input is said at once."""

import os
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import TypeVar

import msgspec

from rigwise.errors import BadInput
from rigwise.records.review import Review
from rigwise.speech import say
from rigwise.telemetry.run_folder import default_run_folder, refuse_unusable
from rigwise.train.checkpoint.interrupted import Interrupted
from rigwise.train.machine import usable_cores
from rigwise.train.pictures.folder import read_pictures
from rigwise.train.pictures.layout import find_layout
from rigwise.train.pictures.picture_ledger import PictureLedger, Recorded, changes, same_split
from rigwise.train.pictures.picture_set import PictureSet
from rigwise.train.preflight.preflight import LoaderPlan, preflight
from rigwise.train.progress import Progress
from rigwise.train.recipe_sections import Recipe
from rigwise.train.repeat import Earlier
from rigwise.train.text.choices import with_choices
from rigwise.train.text.corpus import TextPlan, read_texts
from rigwise.train.text.layout import is_text
from rigwise.train.text.ledger import RecordedText, TextLedger, same_text_split, text_changes
from rigwise.train.text.text_set import TextSet

Ledger = TypeVar("Ledger", PictureLedger, TextLedger)
Samples = TypeVar("Samples", PictureSet, TextSet)
R = TypeVar("R")

MOST_LOADER_THREADS = 8
"""Decode threads beyond this only wait for each other: batches are put together by one of them."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What the user asked for."""

    root: Path
    """DATA."""
    recipe: Recipe
    model: str | None = None
    """Instead of the recipe's: a timm model, or for texts a local folder."""
    out: Path | None = None
    """Run folder; None for the next free one under runs/."""
    earlier: Earlier | None = None
    """The run this one repeats."""
    interrupted: Interrupted | None = None
    """The run to go on with, in its own folder."""
    review: Review = Review()
    """What a person answered on the pages of audits and runs."""
    find_batch: bool = False
    """Whether the largest batch size that holds is searched first; the recipe's is used where there is no GPU."""
    ranks: int | None = None
    """Processes that take each step together, 0 for one for each GPU; None for this process alone."""
    ceilings: bool = False
    """Whether the recommended trial is measured stage by stage afterwards, and levers are tried on it."""
    knobs: bool = False
    """Whether every knob that applies is compared on the recommended trial, not only those of the recipe."""
    find_lr: bool = False
    """Whether a learning rate is searched first, which the recipe then has."""


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A request that can be carried out."""

    request: Request
    recipe: Recipe
    """With every `0 means` value resolved."""
    changed: tuple[str, ...]
    """For a repeat: one line per sample that is not what it was."""


class PreparedPictures(Prepared, frozen=True, kw_only=True):
    """One on pictures."""

    pictures: PictureSet


class PreparedTexts(Prepared, frozen=True, kw_only=True):
    """One on texts."""

    texts: TextSet


def prepare(request: Request, progress: Progress) -> PreparedPictures | PreparedTexts:
    """The recipe resolved and DATA read, whatever kind it is, split as the repeated run had it.

    Raises:
        BadInput: DATA cannot be trained on, or the run folder is in use or lies among the samples.
        CannotWrite: the run folder cannot be made there, or there is too little space for a run.
    """
    _must_still_be_there(request)
    of_texts = is_text(request.root)
    if request.interrupted is None:
        out = request.out or default_run_folder(date.today())
        refuse_unusable(out)
        (_must_be_outside_texts if of_texts else must_be_outside)(out, request.root)
    recipe = resolve(request.recipe)
    for concern in preflight(LoaderPlan(num_threads=recipe.loader.num_threads)):
        progress.tell(say("{because}; {next_step}", because=concern.because, next_step=concern.next_step))
    if of_texts:
        return _texts(request, with_choices(recipe, request.model), progress)
    return _pictures(request, _with_model(recipe, request.model), progress)


def _with_model(recipe: Recipe, name: str | None) -> Recipe:
    if name is None:
        return recipe
    return msgspec.structs.replace(recipe, model=msgspec.structs.replace(recipe.model, name=name))


def _pictures(request: Request, recipe: Recipe, progress: Progress) -> PreparedPictures:
    progress.begin(say("reading pictures"), None)
    try:
        pictures = read_pictures(
            request.root,
            seed=recipe.training.seed,
            val_ratio=recipe.pictures.val_ratio,
            test_ratio=recipe.pictures.test_ratio,
            max_bad_ratio=recipe.pictures.max_bad_ratio,
            review=request.review,
            progress=progress.update,
        )
    finally:
        progress.end()

    def recorded(earlier: Earlier) -> dict[str, Recorded]:
        return _ledger(earlier, PictureLedger).pictures

    again, changed = _as_it_was(request, pictures, recorded, changes, same_split)
    return PreparedPictures(request=request, recipe=recipe, pictures=again, changed=changed)


def _texts(request: Request, recipe: Recipe, progress: Progress) -> PreparedTexts:
    section = recipe.text
    plan = TextPlan(
        seed=recipe.training.seed,
        field=section.field,
        val_ratio=section.val_ratio,
        test_ratio=section.test_ratio,
        max_bad_ratio=section.max_bad_ratio,
    )
    progress.begin(say("reading texts"), None)
    try:
        texts = read_texts(request.root, plan, progress)
    finally:
        progress.end()

    def recorded(earlier: Earlier) -> dict[str, RecordedText]:
        return _ledger(earlier, TextLedger).documents

    again, changed = _as_it_was(request, texts, recorded, text_changes, same_text_split)
    return PreparedTexts(request=request, recipe=recipe, texts=again, changed=changed)


def _as_it_was(
    request: Request,
    samples: Samples,
    recorded: Callable[[Earlier], R],
    changes_since: Callable[[Samples, R], tuple[str, ...]],
    split_as: Callable[[Samples, R], Samples],
) -> tuple[Samples, tuple[str, ...]]:
    """The samples split as the run that is repeated or goes on had them, and what is not what the repeated one had."""
    changed = changes_since(samples, recorded(request.earlier)) if request.earlier else ()
    if request.interrupted is not None:
        before = recorded(request.interrupted.earlier)
        _must_be_the_same(request.interrupted, changes_since(samples, before))
        return split_as(samples, before), changed
    if request.earlier is not None:
        samples = split_as(samples, recorded(request.earlier))
        _must_have_enough(samples, request.earlier)
    return samples, changed


def _ledger(earlier: Earlier, kind: type[Ledger]) -> Ledger:
    """What the earlier run recorded of this kind of data.

    Raises:
        BadInput: it ran on another kind.
    """
    if isinstance(earlier.ledger, kind):
        return earlier.ledger
    raise BadInput(
        say("cannot repeat {run} on this DATA", run=earlier.folder),
        say("one of the two is pictures, the other texts"),
        say("give the DATA of the earlier run, or start anew: rigwise train DATA"),
    )


def _must_be_outside_texts(out: Path, root: Path) -> None:
    if root.is_dir() and Path(os.path.realpath(out)).is_relative_to(os.path.realpath(root)):
        raise BadInput(
            say("the run folder {out} would lie among the texts of {root}", out=out, root=root),
            say("the next run would take what is in it for texts"),
            say("name a folder outside of {root} with --out", root=root),
        )


def _must_be_the_same(interrupted: Interrupted, changed: tuple[str, ...]) -> None:
    """For a run that goes on: every sample must be what it was.

    Raises:
        BadInput: one of them is not.
    """
    if changed:
        raise BadInput(
            say(
                "{run} cannot go on: its {kind} are not what they were",
                run=interrupted.folder,
                kind=interrupted.earlier.kind,
            ),
            say("{first} ({count} in all)", first=changed[0], count=len(changed)),
            say("put them back, or repeat the run with them: rigwise train --from {run}", run=interrupted.folder),
        )


def _must_still_be_there(request: Request) -> None:
    """For a repeat, and for a run that goes on: its samples may have moved since."""
    earlier = request.interrupted.earlier if request.interrupted else request.earlier
    if earlier is not None and not os.path.exists(request.root):
        run = earlier.folder
        repeat = say("name the folder they are in now: rigwise train DATA --from {run}", run=run)
        resume = say("name the folder they are in now: rigwise train DATA --resume {run}", run=run)
        raise BadInput(
            say("the {kind} of {run} are no longer in {root}", kind=earlier.kind, run=run, root=request.root),
            say("the path does not exist"),
            resume if request.interrupted else repeat,
        )


def must_be_outside(out: Path, root: Path) -> None:
    """Nothing, unless the run folder would lie among the classes: it would be one more class of the next run.

    Raises:
        BadInput: it would, or DATA has no classes.
    """
    for folder in find_layout(root).splits.values():
        if Path(os.path.realpath(out)).is_relative_to(os.path.realpath(root / folder)):
            raise BadInput(
                say("the run folder {out} would lie among the classes of {root}", out=out, root=root / folder),
                say("the next run would take it for a class of pictures"),
                say("name a folder outside of {root} with --out", root=root),
            )


def _must_have_enough(samples: PictureSet | TextSet, earlier: Earlier) -> None:
    """For a repeat: samples to learn from and to validate with must be left."""
    for split in ("train", "val"):
        if not getattr(samples, split):
            raise BadInput(
                say(
                    "cannot repeat {run}: none of its {split} {kind} is left",
                    run=earlier.folder,
                    split=split,
                    kind=earlier.kind,
                ),
                say("{root} holds none of those that were used for it", root=samples.root),
                say("put them back, or start anew: rigwise train DATA"),
            )


def resolve(recipe: Recipe) -> Recipe:
    """The recipe with every `0 means` value replaced by the number taken on this machine."""
    cores = usable_cores()
    cpu = msgspec.structs.replace(recipe.cpu, num_threads=recipe.cpu.num_threads or cores)
    loader_threads = recipe.loader.num_threads or min(cores, MOST_LOADER_THREADS)
    loader = msgspec.structs.replace(recipe.loader, num_threads=loader_threads)
    return msgspec.structs.replace(recipe, cpu=cpu, loader=loader)
