"""What a run leaves beside its records: recipe, lock, pictures list and manifest."""

import platform
from datetime import UTC, datetime
from importlib import metadata

import torch

from rigwise import __version__
from rigwise.records.review import Review
from rigwise.telemetry.run_folder import Manifest, RunFolder, write_text
from rigwise.train.audit.review_file import leave_review
from rigwise.train.pictures.picture_ledger import FILE_NAME, picture_lines
from rigwise.train.pictures.picture_set import PictureSet
from rigwise.train.recipe import write_recipe
from rigwise.train.recipe_sections import Recipe


def leave_what_repeats(folder: RunFolder, recipe: Recipe, pictures: PictureSet, review: Review) -> None:
    """Write manifest.json, recipe.toml, lock.txt, pictures.tsv, and review.json where a person answered something.

    Raises:
        CannotWrite: the folder cannot be written.
    """
    folder.write_manifest(
        Manifest(
            kind="train",
            started_at=datetime.now(UTC).isoformat(timespec="seconds"),
            rigwise_version=__version__,
            versions={"python": platform.python_version(), "torch": str(torch.__version__)},
            masked=True,
        )
    )
    write_text(folder.recipe, write_recipe(recipe))
    write_text(folder.lock, lock_lines())
    write_text(folder.path / FILE_NAME, picture_lines(pictures))
    leave_review(folder.path, review)


def lock_lines() -> str:
    """Exact versions of every installed package, one a line, as pip reads them."""
    installed = {f"{found.metadata['Name']}=={found.version}" for found in metadata.distributions()}
    return "\n".join(sorted(installed, key=str.lower)) + "\n"
