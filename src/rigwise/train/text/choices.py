"""What a recipe leaves open where DATA is texts, decided by the model. No torch here."""

import os

import msgspec

from rigwise.train.recipe_sections import Recipe

BUILT_IN = "tiny"
"""The model that needs nothing."""
BUILT_IN_RATE = 1e-3
"""Our choice: of 1e-3, 3e-3 and 6e-3 the lowest validation loss after 60 steps on the embedded notes (decision 11)."""
FOLDER_RATE = 5e-5
"""The default of transformers' `TrainingArguments.learning_rate`: larger ones unlearn what the weights know."""
ADAPTER_RATE = 2e-4
"""T. Dettmers et al., "QLoRA", arXiv:2305.14314, table 9, models up to 13 billion parameters."""


def with_choices(recipe: Recipe, model: str | None) -> Recipe:
    """The recipe with this model, if one is named, and the learning rate where trials read it.

    A folder that is there is named in full, so that the run can be repeated from anywhere.
    """
    chosen = model or recipe.text.model
    is_folder = chosen != BUILT_IN and os.path.isdir(chosen)
    text = msgspec.structs.replace(recipe.text, model=os.path.abspath(chosen) if is_folder else chosen)
    rate = text.learning_rate or _usual_rate(text.model, text.lora_rank)
    return msgspec.structs.replace(
        recipe,
        text=msgspec.structs.replace(text, learning_rate=rate),
        training=msgspec.structs.replace(recipe.training, learning_rate=rate),
    )


def _usual_rate(model: str, lora_rank: int) -> float:
    if model == BUILT_IN:
        return BUILT_IN_RATE
    return ADAPTER_RATE if lora_rank else FOLDER_RATE
