"""Activation checkpointing: what lies inside a block is computed again in backward instead of kept.

Chen et al., Training Deep Nets with Sublinear Memory Cost, arXiv:1604.06174. Gradients, random numbers and the
statistics of BatchNorm are those of the same step without it.
"""

from collections.abc import Iterator
from functools import partial
from types import MethodType
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from rigwise.errors import BadInput
from rigwise.speech import say


def checkpoint_activations(model: nn.Module) -> None:
    """Switch it on: by the model's own switch (timm, transformers), else for each of its blocks.

    Raises:
        BadInput: it has neither.
    """
    if not _has_own_switch(model):
        found = list(blocks(model))
        if not found:
            raise BadInput(
                say("activation checkpointing does not fit {model}", model=type(model).__name__),
                say("it has no switch for it, and no sequence of blocks to compute again"),
                say("set checkpointing = false under [knobs]"),
            )
        for block in found:
            block.forward = partial(checkpoint, MethodType(type(block).forward, block), use_reentrant=False)
    for layer in model.modules():
        if isinstance(layer, nn.modules.batchnorm._BatchNorm):
            _count_once(layer)


def blocks(model: nn.Module) -> Iterator[nn.Module]:
    """The members of its sequences that have parts of their own; sequences of such sequences are looked into."""
    for part in model.children():
        if not _is_sequence(part):
            yield from blocks(part)
            continue
        for member in part.children():
            if _is_sequence(member) and any(list(inner.children()) for inner in member.children()):
                yield from blocks(nn.ModuleList([member]))
            elif list(member.children()):
                yield member


def _is_sequence(part: nn.Module) -> bool:
    return type(part) in (nn.Sequential, nn.ModuleList)


def _has_own_switch(model: Any) -> bool:
    """Whether the model has a switch, and it could be turned on."""
    try:
        if hasattr(model, "set_grad_checkpointing"):
            model.set_grad_checkpointing(True)
        elif hasattr(model, "gradient_checkpointing_enable"):
            model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        else:
            return False
    except (AssertionError, ValueError, NotImplementedError):  # what those libraries raise where it is not supported
        return False
    return True


def _count_once(layer: nn.Module) -> None:
    """Let the second computation of a step change a copy of the layer's statistics, not the statistics."""
    kept: dict[str, Tensor | None] = {}

    def before(layer: nn.Module, _: Any) -> None:
        if torch._C._current_graph_task_id() != -1:  # backward is under way, as torch.utils.checkpoint finds out too
            kept.update(layer._buffers)
            layer._buffers.update({name: held.clone() for name, held in kept.items() if held is not None})

    def after(layer: nn.Module, *_: Any) -> None:
        layer._buffers.update(kept)
        kept.clear()

    layer.register_forward_pre_hook(before)
    layer.register_forward_hook(after, always_call=True)  # checkpoint leaves the last layer by raising
