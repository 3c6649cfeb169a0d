"""What a run leaves beside its records: recipe, lock, manifest and the recommended model."""

import platform
from datetime import UTC, datetime
from importlib import metadata

import torch

from rigwise import __version__
from rigwise.errors import CannotWrite
from rigwise.speech import say
from rigwise.telemetry.run_folder import Manifest, RunFolder, write_text
from rigwise.train.full_trial import Trained
from rigwise.train.picture_lab import PictureLab
from rigwise.train.recipe import write_recipe
from rigwise.train.recipe_sections import Recipe

MODEL_FILE = "model.pt"


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


def leave_model(folder: RunFolder, chosen: Trained, lab: PictureLab) -> None:
    """Write model.pt: timm name, classes, picture size and state dict, for `torch.load(weights_only=True)`.

    Raises:
        CannotWrite: no space, or read-only.
    """
    path = folder.path / MODEL_FILE
    content = {
        "model": lab.recipe.model.name,
        "classes": list(lab.pictures.classes),
        "image_size": lab.image_size,
        "state_dict": chosen.weights,
    }
    try:
        torch.save(content, path)
    except (OSError, RuntimeError) as error:
        raise CannotWrite(
            say("cannot write {path}", path=path),
            str(error),
            say("free some space, then repeat: rigwise train --from {folder}", folder=folder.path),
        ) from error
