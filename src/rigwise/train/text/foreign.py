"""A language model of a local Hugging Face folder: its tokeniser, its weights, LoRA adapters through peft.

Nothing is fetched (`local_files_only`) and no code of the folder is run (`trust_remote_code` is off); weights are read
from safetensors alone. The libraries are the optional extra `text`, imported here and nowhere else.
"""

import importlib.util
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from rigwise.errors import BadInput
from rigwise.speech import say
from rigwise.train.recipe_sections import Recipe
from rigwise.train.text.models import BuiltText
from rigwise.units import percent

LOCAL: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
MODEL_LIBRARIES = ("transformers", "tokenizers", "safetensors")
TRANSPOSED = "Conv1D"
"""GPT-2's linear layer in transformers, its weight the other way round."""
ADAPTER_LIBRARIES = (*MODEL_LIBRARIES, "peft")


class ForeignModel(nn.Module):
    """A causal language model of transformers: tokens `(B, T)` to logits `(B, T, V)`."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits; padding stands behind the tokens, so that causal attention never sees it."""
        logits: Tensor = self.inner(input_ids=tokens, use_cache=False).logits
        return logits

    def save(self, folder: Path) -> None:
        """The model, or its adapters alone, as transformers and peft read them: safetensors and a config."""
        self.inner.save_pretrained(folder)


def load_tokeniser(folder: Path) -> Any:
    """The fast tokeniser in a folder.

    Raises:
        BadInput: there is none, or the libraries are missing.
    """
    _need(MODEL_LIBRARIES)
    _must_be_folder(folder)
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(str(folder), use_fast=True, **LOCAL)
    except Exception as error:  # whatever the library meets in files of any kind
        raise _unusable(say("cannot use the tokeniser of {folder}", folder=folder), error) from error


def build_foreign(recipe: Recipe, vocabulary_size: int) -> BuiltText:
    """The model in the folder a recipe names, with adapters where it asks for them.

    Raises:
        BadInput: it cannot be used, its vocabulary is too small, or the libraries are missing.
    """
    section = recipe.text
    _need(ADAPTER_LIBRARIES if section.lora_rank else MODEL_LIBRARIES)
    folder = Path(section.model).expanduser()
    _must_be_folder(folder)
    inner, weights = _loaded(folder, random=recipe.model.weights == "none")
    known = inner.get_input_embeddings().num_embeddings
    if known < vocabulary_size:
        raise BadInput(
            say(
                "the model of {folder} knows {known} tokens, its tokeniser {size}",
                folder=folder,
                known=known,
                size=vocabulary_size,
            ),
            say("a token beyond the vocabulary has no embedding"),
            say("name the tokeniser that belongs to the model: tokeniser under [text]"),
        )
    if section.lora_rank:
        inner = _with_adapters(inner, recipe)
        weights = say("{weights}; {share}", weights=weights, share=_trainable_words(inner))
    size = sum(parameter.numel() for parameter in inner.parameters())
    name = say("{name}: {kind}, {size} parameters", name=folder.name, kind=type(inner).__name__, size=f"{size:,}")
    return BuiltText(model=ForeignModel(inner), name=name, weights=weights, keeps_apart=False)


def _loaded(folder: Path, *, random: bool) -> tuple[Any, str]:
    """The model in fp32 and in training mode, and which weights it has."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    try:
        if random:
            config = AutoConfig.from_pretrained(str(folder), **LOCAL)
            model = AutoModelForCausalLM.from_config(config, trust_remote_code=False)
            return model.to(torch.float32), say(
                "random weights, as asked; only the shape is that of {folder}", folder=folder
            )
        model = AutoModelForCausalLM.from_pretrained(str(folder), use_safetensors=True, dtype=torch.float32, **LOCAL)
    except Exception as error:  # whatever the library meets in files of any kind
        raise _unusable(say("cannot use the model of {folder}", folder=folder), error) from error
    return model.train(), say("weights of {folder}", folder=folder)


def _with_adapters(model: Any, recipe: Recipe) -> Any:
    from peft import LoraConfig, get_peft_model

    section = recipe.text
    layers = adapted_layers(model)
    config = LoraConfig(
        r=section.lora_rank,
        lora_alpha=section.lora_alpha or 2 * section.lora_rank,
        lora_dropout=section.lora_dropout,
        target_modules=list(layers),
        task_type="CAUSAL_LM",
        fan_in_fan_out=TRANSPOSED in layers.values(),
    )
    with warnings.catch_warnings():
        # peft 0.21 asks transformers 5 for a name it is about to drop; nobody here can do anything about it.
        warnings.simplefilter("ignore", FutureWarning)
        return get_peft_model(model, config)


def adapted_layers(model: nn.Module) -> dict[str, str]:
    """Name to kind of the layers that adapters go on: every linear one, but the output layer.

    T. Dettmers et al., "QLoRA", arXiv:2305.14314, section 4: adapters on all linear layers match full training.
    """
    kinds = {name: type(module).__name__ for name, module in model.named_modules()}
    output = getattr(model, "get_output_embeddings", lambda: None)()
    linear = {name: kind for name, kind in kinds.items() if kind in ("Linear", TRANSPOSED)}
    return {name: kind for name, kind in linear.items() if model.get_submodule(name) is not output}


def trainable_share(model: nn.Module) -> tuple[int, int]:
    """Parameters that are trained, and all."""
    sizes = [(parameter.numel(), parameter.requires_grad) for parameter in model.parameters()]
    return sum(size for size, trained in sizes if trained), sum(size for size, _ in sizes)


def _trainable_words(model: nn.Module) -> str:
    trained, every = trainable_share(model)
    return say(
        "LoRA adapters: {trained} of {all} parameters are trained ({share})",
        trained=f"{trained:,}",
        all=f"{every:,}",
        share=percent(trained / every),
    )


def _need(libraries: Sequence[str]) -> None:
    """They are there, off the network whatever they would like to look up, and quiet."""
    missing = [name for name in libraries if importlib.util.find_spec(name) is None]
    if missing:
        raise BadInput(
            say("a Hugging Face folder needs the `text` extra"),
            say("not installed beside rigwise: {modules}", modules=", ".join(missing)),
            say("pip install 'rigwise[text]'"),
        )
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from transformers.utils import logging

    logging.disable_progress_bar()  # the run shows its own
    logging.set_verbosity_error()


def _must_be_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise BadInput(
            say("no model folder {folder}", folder=folder),
            say("a model is `tiny`, built in, or a local Hugging Face folder; nothing is fetched"),
            say("name a folder with config.json, model.safetensors and tokenizer.json"),
        )


def _unusable(what: str, error: Exception) -> BadInput:
    return BadInput(
        what,
        (str(error).strip().splitlines() or [type(error).__name__])[0],
        say("name a folder with config.json, model.safetensors and tokenizer.json; no code of a folder is run"),
    )
