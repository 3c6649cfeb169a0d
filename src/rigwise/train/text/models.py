"""The language model of a run: the built-in one, or that of a local Hugging Face folder."""

import msgspec
import torch
from torch import nn

from rigwise.errors import BadInput
from rigwise.speech import say
from rigwise.train.recipe_sections import Recipe
from rigwise.train.text.choices import BUILT_IN
from rigwise.train.text.decoder import Decoder
from rigwise.train.text.tokeniser import BYTES, Tokeniser, find_tokeniser


class BuiltText(msgspec.Struct, frozen=True, kw_only=True):
    """A language model ready to train."""

    model: nn.Module
    """Tokens `(B, T)` to logits `(B, T, V)`, on the CPU."""
    name: str
    weights: str
    """Which weights these are, in words."""
    keeps_apart: bool
    """Whether it can keep the documents of a packed sequence apart: it takes their segments."""


def recipe_tokeniser(recipe: Recipe) -> Tokeniser:
    """The tokeniser a recipe asks for.

    Raises:
        BadInput: there is none.
    """
    section = recipe.text
    if section.tokeniser != "auto":
        return find_tokeniser(section.tokeniser)
    return find_tokeniser(BYTES if section.model == BUILT_IN else section.model)


def build_text_model(recipe: Recipe, vocabulary_size: int) -> BuiltText:
    """The model a recipe asks for, for that many tokens; the caller's random numbers are left as they were.

    Raises:
        BadInput: no such folder, or one that cannot be used.
    """
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(recipe.training.seed)
        if recipe.text.model == BUILT_IN:
            return _built_in(recipe, vocabulary_size)
        from rigwise.train.text.foreign import build_foreign

        return build_foreign(recipe, vocabulary_size)


def _built_in(recipe: Recipe, vocabulary_size: int) -> BuiltText:
    section = recipe.text
    if section.lora_rank:
        raise BadInput(
            say("LoRA adapts a trained model, and the built-in one is not trained"),
            say("lora_rank = {rank} under [text], model = {model}", rank=section.lora_rank, model=BUILT_IN),
            say("name a local Hugging Face folder as the model, or set lora_rank = 0"),
        )
    model = Decoder(vocabulary_size, layers=section.layers, width=section.width, heads=section.heads)
    size = sum(parameter.numel() for parameter in model.parameters())
    name = say(
        "{name}: {layers} layers, width {width}, {size} parameters",
        name=BUILT_IN,
        layers=section.layers,
        width=section.width,
        size=f"{size:,}",
    )
    return BuiltText(model=model, name=name, weights=say("random weights, nothing pretrained"), keeps_apart=True)
