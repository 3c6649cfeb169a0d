"""The model of a run: any of timm's, with known weights and a new last layer for the classes at hand."""

import difflib
from pathlib import Path
from typing import Any

import msgspec
import timm
import torch
from torch import nn

from rigwise.errors import BadInput
from rigwise.speech import say
from rigwise.train.network.weights import LITE0, load_file, load_lite0, load_published

PRETRAINED, RANDOM = "auto", "none"


class BuiltModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model ready to train, and how its pictures must be prepared."""

    model: nn.Module
    name: str
    mean: tuple[float, float, float]
    """Of each colour channel, pictures being 0 to 1."""
    std: tuple[float, float, float]
    interpolation: str
    """`bicubic` or `bilinear`, as the weights were trained with."""
    image_size: int
    """Pixels along each side, as the weights were trained with."""
    weights: str
    """Which weights these are, in words."""


def build_model(name: str, num_classes: int, *, weights: str = PRETRAINED, seed: int = 0) -> BuiltModel:
    """A timm model for that many classes; `seed` decides every value that is not loaded.

    `weights` is `auto` (pretrained, or an error), `none` (random, because it was asked for) or a file.

    The caller's random numbers are left as they were.

    Raises:
        BadInput: no such model, no such weights, or weights that do not fit.
        CannotTell: pretrained weights exist but cannot be had here.
    """
    _refuse_unknown(name)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        model, words = _weighted(name, num_classes, weights)
    prepared = model.pretrained_cfg
    return BuiltModel(
        model=model,
        name=name,
        mean=tuple(prepared["mean"]),
        std=tuple(prepared["std"]),
        interpolation=prepared["interpolation"],
        image_size=prepared["input_size"][-1],
        weights=words,
    )


def must_take(built: BuiltModel, image_size: int) -> None:
    """Nothing, when the model takes pictures of this size; tried with one.

    Raises:
        BadInput: it does not; many networks take one size only.
    """
    built.model.eval()
    try:
        with torch.no_grad():
            built.model(torch.zeros(1, 3, image_size, image_size))
    except (AssertionError, RuntimeError, ValueError) as error:  # what torch and timm raise of a shape
        raise BadInput(
            say("{name} cannot take pictures of {size} x {size} pixels", name=built.name, size=image_size),
            str(error).partition("\n")[0],
            say(
                "give a recipe with image_size = {size} under [pictures] and under [cpu]: its weights were made for it",
                size=built.image_size,
            ),
        ) from error


def _weighted(name: str, num_classes: int, weights: str) -> tuple[Any, str]:
    """The timm model with its weights, and which ones in words."""
    if weights == RANDOM:
        return timm.create_model(name, num_classes=num_classes), say("random weights (asked for)")
    if weights != PRETRAINED:
        model = timm.create_model(name, num_classes=num_classes)
        return model, load_file(model, Path(weights))
    model, words = load_lite0(name) if name.split(".")[0] == LITE0 else load_published(name)
    model.reset_classifier(num_classes)
    return model, words


def _refuse_unknown(name: str) -> None:
    known = {*timm.list_models(), *timm.list_pretrained()}
    if name in known:
        return
    near = difflib.get_close_matches(name, sorted(known), n=3)
    raise BadInput(
        say("timm has no model called {name}", name=name),
        say("the nearest names are {names}", names=", ".join(near)) if near else say("no name is near it"),
        say("rigwise train --model {name}", name=near[0] if near else LITE0),
    )
