"""From what the user asked for to a recipe and pictures that can be used. No torch here: bad input is said at once."""

import os
from datetime import date
from pathlib import Path

import msgspec

from rigwise.errors import BadInput
from rigwise.records.review import Review
from rigwise.speech import say
from rigwise.telemetry.run_folder import default_run_folder, refuse_unusable
from rigwise.train.checkpoint.interrupted import Interrupted
from rigwise.train.machine import usable_cores
from rigwise.train.pictures.folder import read_pictures
from rigwise.train.pictures.layout import find_layout
from rigwise.train.pictures.picture_ledger import changes, same_split
from rigwise.train.pictures.picture_set import PictureSet
from rigwise.train.preflight.preflight import LoaderPlan, preflight
from rigwise.train.progress import Progress
from rigwise.train.recipe_sections import Recipe
from rigwise.train.repeat import Earlier

MOST_LOADER_THREADS = 8
"""Decode threads beyond this only wait for each other: batches are put together by one of them."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What the user asked for."""

    root: Path
    """DATA."""
    recipe: Recipe
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
    pictures: PictureSet
    changed: tuple[str, ...]
    """For a repeat: one line per picture that is not what it was."""


def prepare(request: Request, progress: Progress) -> Prepared:
    """The recipe resolved and the pictures read, split as the repeated run had them.

    Raises:
        BadInput: DATA cannot be trained on, or the run folder is in use or lies among the classes.
        CannotWrite: the run folder cannot be made there, or there is too little space for a run.
    """
    _must_still_be_there(request)
    if request.interrupted is None:
        out = request.out or default_run_folder(date.today())
        refuse_unusable(out)
        must_be_outside(out, request.root)
    recipe = resolve(request.recipe)
    for concern in preflight(LoaderPlan(num_threads=recipe.loader.num_threads)):
        progress.tell(say("{because}; {next_step}", because=concern.because, next_step=concern.next_step))
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
    if request.interrupted is not None:
        return _as_they_were(request, request.interrupted, recipe, pictures)
    if request.earlier is None:
        return Prepared(request=request, recipe=recipe, pictures=pictures, changed=())
    recorded = request.earlier.ledger.pictures
    again = same_split(pictures, recorded)
    _must_have_enough(again, request.earlier.folder)
    return Prepared(request=request, recipe=recipe, pictures=again, changed=changes(pictures, recorded))


def _as_they_were(request: Request, interrupted: Interrupted, recipe: Recipe, pictures: PictureSet) -> Prepared:
    """An interrupted run goes on with the pictures it had, in the splits they had.

    Raises:
        BadInput: one of them is not what it was.
    """
    recorded = interrupted.earlier.ledger.pictures
    if other := changes(pictures, recorded):
        raise BadInput(
            say("{run} cannot go on: its pictures are not what they were", run=interrupted.folder),
            say("{first} ({count} in all)", first=other[0], count=len(other)),
            say("put them back, or repeat the run with them: rigwise train --from {run}", run=interrupted.folder),
        )
    changed = changes(pictures, request.earlier.ledger.pictures) if request.earlier else ()
    return Prepared(request=request, recipe=recipe, pictures=same_split(pictures, recorded), changed=changed)


def _must_still_be_there(request: Request) -> None:
    """For a repeat, and for a run that goes on: its pictures may have moved since."""
    before = request.interrupted or request.earlier
    if before is not None and not os.path.exists(request.root):
        run = before.folder
        repeat = say("name the folder they are in now: rigwise train DATA --from {run}", run=run)
        resume = say("name the folder they are in now: rigwise train DATA --resume {run}", run=run)
        raise BadInput(
            say("the pictures of {run} are no longer in {root}", run=run, root=request.root),
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


def _must_have_enough(pictures: PictureSet, run: Path) -> None:
    """For a repeat: pictures to learn from and to validate with must be left."""
    for split in ("train", "val"):
        if not getattr(pictures, split):
            raise BadInput(
                say("cannot repeat {run}: none of its {split} pictures is left", run=run, split=split),
                say("{root} holds none of those that were used for it", root=pictures.root),
                say("put them back, or start anew: rigwise train DATA"),
            )


def resolve(recipe: Recipe) -> Recipe:
    """The recipe with every `0 means` value replaced by the number taken on this machine."""
    cores = usable_cores()
    cpu = msgspec.structs.replace(recipe.cpu, num_threads=recipe.cpu.num_threads or cores)
    loader_threads = recipe.loader.num_threads or min(cores, MOST_LOADER_THREADS)
    loader = msgspec.structs.replace(recipe.loader, num_threads=loader_threads)
    return msgspec.structs.replace(recipe, cpu=cpu, loader=loader)
