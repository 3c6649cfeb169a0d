"""From what the user asked for to a recipe and pictures that can be used. No torch here: bad input is said at once."""

import os
from pathlib import Path

import msgspec

from rigwise.speech import say
from rigwise.telemetry.run_folder import refuse_unusable
from rigwise.train.pictures.folder import read_pictures
from rigwise.train.pictures.picture_ledger import changes, same_split
from rigwise.train.pictures.picture_set import PictureSet
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
        BadInput: DATA cannot be trained on, or the run folder is in use.
        CannotWrite: there is too little space for a run.
    """
    if request.out is not None:
        refuse_unusable(request.out)
    recipe = resolve(request.recipe)
    progress.begin(say("reading pictures"), None)
    try:
        pictures = read_pictures(
            request.root,
            seed=recipe.training.seed,
            val_ratio=recipe.pictures.val_ratio,
            test_ratio=recipe.pictures.test_ratio,
            max_bad_ratio=recipe.pictures.max_bad_ratio,
            progress=progress.update,
        )
    finally:
        progress.end()
    if request.earlier is None:
        return Prepared(request=request, recipe=recipe, pictures=pictures, changed=())
    recorded = request.earlier.ledger.pictures
    changed = changes(pictures, recorded)
    return Prepared(request=request, recipe=recipe, pictures=same_split(pictures, recorded), changed=changed)


def resolve(recipe: Recipe) -> Recipe:
    """The recipe with every `0 means` value replaced by the number taken on this machine."""
    cores = len(os.sched_getaffinity(0))
    cpu = msgspec.structs.replace(recipe.cpu, num_threads=recipe.cpu.num_threads or cores)
    loader_threads = recipe.loader.num_threads or min(cores, MOST_LOADER_THREADS)
    loader = msgspec.structs.replace(recipe.loader, num_threads=loader_threads)
    return msgspec.structs.replace(recipe, cpu=cpu, loader=loader)
