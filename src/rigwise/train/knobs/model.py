"""What a recipe's knobs do to the model itself."""

from typing import Any

import torch
from torch import Tensor, nn

from rigwise.errors import BadInput
from rigwise.speech import say
from rigwise.train.knobs.checkpointing import checkpoint_activations
from rigwise.train.knobs.section import KnobsSection


def prepare(model: nn.Module, knobs: KnobsSection) -> None:
    """Freeze, lay out, checkpoint and compile as asked; the model ends in training mode. Once for each model.

    Raises:
        BadInput: it has no classifier to train alone, or nothing that can be computed again.
    """
    if knobs.freeze_backbone:
        freeze_backbone(model)
    if knobs.channels_last:
        to_channels_last(model)
    if knobs.checkpointing:
        checkpoint_activations(model)
    if knobs.compile:
        model.compile()
    to_training(model, knobs)


def to_training(model: nn.Module, knobs: KnobsSection) -> None:
    """Into training mode, all but the statistics of a frozen backbone."""
    model.train()
    if knobs.freeze_backbone:
        for layer in model.modules():
            if isinstance(layer, nn.modules.batchnorm._BatchNorm) and not _learns(layer):
                layer.eval()


def _learns(layer: nn.Module) -> bool:
    return any(parameter.requires_grad for parameter in layer.parameters())


def freeze_backbone(model: nn.Module) -> None:
    """Only the last layer learns: timm's classifier, transformers' output layer, or the last `nn.Linear`.

    Raises:
        BadInput: there is none.
    """
    classifier = classifier_of(model)
    if not any(True for _ in classifier.parameters()):
        raise BadInput(
            say("freeze_backbone does not fit {model}", model=type(model).__name__),
            say("it has no classifier that could be trained alone"),
            say("set freeze_backbone = false under [knobs]"),
        )
    model.requires_grad_(False)
    classifier.requires_grad_(True)


def classifier_of(model: Any) -> nn.Module:
    """The layer that answers; one without parameters where there is none."""
    for name in ("get_classifier", "get_output_embeddings"):
        found = getattr(model, name, lambda: None)()
        if isinstance(found, nn.Module):
            return found
    linear = [layer for layer in model.modules() if isinstance(layer, nn.Linear)]
    return linear[-1] if linear else nn.Identity()


def to_channels_last(model: nn.Module) -> None:
    """Weights and pictures with the channels of a pixel side by side, which tensor cores read as they lie."""
    for parameter in model.parameters():  # `model.to` would swap them, which tensors without memory do not allow
        parameter.data = channels_last(parameter.data)
    model.register_forward_pre_hook(lambda _, given: tuple(map(channels_last, given)))


def channels_last(given: Any) -> Any:
    """A tensor of four dimensions, such as pictures `(B, C, H, W)`, in that order; anything else as it is."""
    has_channels = isinstance(given, Tensor) and given.dim() == 4
    return given.contiguous(memory_format=torch.channels_last) if has_channels else given
