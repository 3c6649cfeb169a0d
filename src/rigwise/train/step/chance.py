"""Layers that draw random numbers, switched off where two results are compared."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def without_chance(model: nn.Module) -> Iterator[None]:
    """While inside, dropout and drop-path do nothing: two devices, or two halves of a batch, draw different numbers."""
    drawing = [module for module in model.modules() if type(module).__name__.startswith("Drop") and module.training]
    for module in drawing:
        module.eval()
    try:
        yield
    finally:
        for module in drawing:
            module.train()
