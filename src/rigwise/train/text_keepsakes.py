"""The recommended language model in the run folder, as whoever made its kind reads it."""

from pathlib import Path

import msgspec
import torch

from rigwise.errors import CannotWrite
from rigwise.speech import say
from rigwise.train.export.model_folder import FOLDER
from rigwise.train.full_trial import Trained
from rigwise.train.text.choices import BUILT_IN
from rigwise.train.text_lab import TextLab

MODEL_FILE = "model.pt"


def leave_text_model(lab: TextLab, chosen: Trained) -> str:
    """Write the model: the built-in one to model.pt, another to model/, or of LoRA its adapters alone.

    model.pt is for `torch.load(weights_only=True)`: the [text] section, vocabulary size, context and state dict; model/
    is what transformers or peft save, with the tokeniser.

    Returns what is where, in words.

    Raises:
        CannotWrite: no space, or read-only.
    """
    folder = lab.folder.path
    is_built_in = lab.recipe.text.model == BUILT_IN
    try:
        if is_built_in:
            torch.save(_content(lab, chosen), folder / MODEL_FILE)
            return say("{path}: the decoder's weights, for torch.load", path=folder / MODEL_FILE)
        _save_foreign(lab, chosen, folder / FOLDER)
        reader = say("peft, adapters alone") if lab.recipe.text.lora_rank else say("transformers")
        return say("{path}: as it is read by {reader}", path=folder / FOLDER, reader=reader)
    except (OSError, RuntimeError) as error:
        raise CannotWrite(
            say("cannot write {path}", path=folder / (MODEL_FILE if is_built_in else FOLDER)),
            str(error),
            say("free some space, then repeat: rigwise train --from {folder}", folder=folder),
        ) from error


def _content(lab: TextLab, chosen: Trained) -> dict[str, object]:
    return {
        "text": msgspec.structs.asdict(lab.recipe.text),
        "vocabulary_size": lab.vocabulary_size,
        "context": lab.material.context,
        "state_dict": chosen.weights,
    }


def _save_foreign(lab: TextLab, chosen: Trained, folder: Path) -> None:
    from rigwise.train.text.foreign import ForeignModel, load_tokeniser

    model = lab.build().model
    assert isinstance(model, ForeignModel)
    model.load_state_dict(chosen.weights)
    model.save(folder)
    named = lab.recipe.text.tokeniser
    load_tokeniser(Path(lab.recipe.text.model if named == "auto" else named).expanduser()).save_pretrained(str(folder))
