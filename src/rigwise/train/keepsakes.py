"""What a run leaves beside its records: recipe, lock and manifest."""

import platform
from datetime import UTC, datetime
from importlib import metadata

import torch

from rigwise import __version__
from rigwise.telemetry.run_folder import Manifest, RunFolder, write_text
from rigwise.train.recipe import write_recipe
from rigwise.train.recipe_sections import Recipe


def leave_what_repeats(folder: RunFolder, recipe: Recipe) -> None:
    """Write manifest.json, recipe.toml and lock.txt.

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


def lock_lines() -> str:
    """Exact versions of every installed package, one a line, as pip reads them."""
    installed = {f"{found.metadata['Name']}=={found.version}" for found in metadata.distributions()}
    return "\n".join(sorted(installed, key=str.lower)) + "\n"
