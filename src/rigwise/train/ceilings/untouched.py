"""A measurement trains: afterwards everything it touched is as it was, so that a later training is bit-equal."""

import copy
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
import torch
from torch import nn

from rigwise.train.ceilings.loop import Loop


class Stateful(Protocol):
    """A model, optimiser, schedule or scaler."""

    def state_dict(self) -> Any:
        """What it holds."""

    def load_state_dict(self, state_dict: Any, /) -> Any:
        """Take that again."""


@contextmanager
def untouched(loop: Loop, also: tuple[Stateful, ...] = ()) -> Iterator[None]:
    """Afterwards weights, gradients, optimiser and random generators are as before.

    Args:
        loop: its model and optimiser are kept, where it names them, and the generators of its loader.
        also: what else its step changes: a schedule, a scaler, a second model.
    """
    holders: list[Stateful] = [one for one in (loop.model, loop.optimizer, *also) if one is not None]
    states = [copy.deepcopy(one.state_dict()) for one in holders]
    modules = [one for one in holders if isinstance(one, nn.Module)]
    gradients = [(p, None if p.grad is None else p.grad.clone()) for module in modules for p in module.parameters()]
    buffers = [(held, held.clone()) for module in modules for held in module.buffers()]  # also those not in its state
    modes = [(part, part.training) for module in modules for part in module.modules()]
    chance = _Chance(loop)
    try:
        yield
    finally:
        for one, state in zip(holders, states, strict=True):
            one.load_state_dict(state)
        for parameter, gradient in gradients:
            parameter.grad = gradient
        with torch.no_grad():
            for held, before in buffers:
                held.copy_(before)
        for part, training in modes:
            part.training = training
        chance.restore()


class _Chance:
    """The state of every random generator a loop draws from."""

    def __init__(self, loop: Loop) -> None:
        self._python = random.getstate()
        self._numpy = np.random.get_state()
        self._cpu = torch.get_rng_state()
        self._cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
        places = (loop.loader, getattr(loop.loader, "sampler", None))
        found = {id(one): one for place in places if (one := getattr(place, "generator", None)) is not None}
        self._own = [(one, one.get_state()) for one in found.values() if isinstance(one, torch.Generator)]

    def restore(self) -> None:
        """Set all of them back."""
        random.setstate(self._python)
        np.random.set_state(self._numpy)
        torch.set_rng_state(self._cpu)
        if self._cuda:
            torch.cuda.set_rng_state_all(self._cuda)
        for generator, state in self._own:
            generator.set_state(state)
