"""Where a loss that is NaN or infinite comes from: the first layer that turns finite numbers into others."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from rigwise.speech import say


def first_not_finite(model: nn.Module, forward: Callable[[], object]) -> str:
    """The parameter, the input or the layer where it starts, in words; "" where everything is finite.

    Args:
        model: whose layers are watched.
        forward: runs the model once, as the step that failed did.
    """
    for name, parameter in model.named_parameters():
        if not _finite(parameter):
            return say("the weights in {name} are not finite already", name=name)
    found: list[str] = []

    def watch(name: str) -> Callable[[nn.Module, Any, Any], None]:
        def see(layer: nn.Module, inputs: Any, output: Any) -> None:
            if not found and not _finite(output):
                found.append(_words(name, layer, inputs))

        return see

    leaves = [(name, layer) for name, layer in model.named_modules() if not list(layer.children())]
    hooks = [layer.register_forward_hook(watch(name)) for name, layer in leaves]
    try:
        with torch.no_grad():
            loss = forward()
    finally:
        for hook in hooks:
            hook.remove()
    if not found and not _finite(loss):
        found.append(say("the loss itself: every layer's output is finite"))
    return found[0] if found else ""


def _words(name: str, layer: nn.Module, inputs: Any) -> str:
    kind = type(layer).__name__
    if not _finite(inputs):
        return say("the input of {name} ({kind}) is not finite", name=name or kind, kind=kind)
    largest = max((float(each.detach().abs().max()) for each in _tensors(inputs) if each.numel()), default=0.0)
    return say(
        "{name} ({kind}) turns finite inputs, at most {largest}, into others",
        name=name or kind,
        kind=kind,
        largest=f"{largest:.3g}",
    )


def _tensors(values: Any) -> list[Tensor]:
    leaves = tree_leaves(values)
    return [leaf for leaf in leaves if isinstance(leaf, Tensor) and leaf.is_floating_point()]


def _finite(values: Any) -> bool:
    return all(bool(torch.isfinite(each).all()) for each in _tensors(values))
