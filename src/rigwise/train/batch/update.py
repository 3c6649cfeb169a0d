"""The optimiser's own update, and what it means when memory ends there.

A smaller batch is no help: activations are gone by then. What is held is parameters, gradients and the optimiser's
state, which most optimisers take in their first update (torch/optim/adam.py, `_init_group`), and what is needed on top
are temporary tensors: as large as the parameters where the update is done for all of them at once (`foreach`).
"""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from rigwise.speech import say
from rigwise.train.batch.recognise import out_of_memory
from rigwise.units import memory


class UpdateDoesNotFit(torch.OutOfMemoryError):
    """Memory ended in the optimiser's update; a smaller batch or micro-batch does not change that."""


def updated(optimizer: torch.optim.Optimizer, update: Callable[[], object]) -> None:
    """Runs an update of this optimiser.

    Raises:
        UpdateDoesNotFit: memory ended. Where nothing had been changed by then, the optimiser is as it was before.
    """
    had_state, versions = bool(optimizer.state), _versions(optimizer)
    try:
        update()
    except Exception as error:
        if out_of_memory(error) is None:
            raise
        words = _words(optimizer, ". ".join(str(error).split(". ")[:2]).rstrip("."))
        if not had_state and _versions(optimizer) == versions:
            # Half of a parameter's state is worse than none: the next update would take it for whole.
            optimizer.state.clear()
        raise UpdateDoesNotFit(words) from error


def _versions(optimizer: torch.optim.Optimizer) -> tuple[int, ...]:
    """How often each parameter has been written."""
    return tuple(parameter._version for group in optimizer.param_groups for parameter in group["params"])


def _words(optimizer: torch.optim.Optimizer, said: str) -> str:
    with_gradients = [each for group in optimizer.param_groups for each in group["params"] if each.grad is not None]
    states = [value for state in optimizer.state.values() for value in state.values() if isinstance(value, Tensor)]
    held = {
        "parameters": memory(_bytes(each for group in optimizer.param_groups for each in group["params"])),
        "gradients": memory(_bytes(each.grad for each in with_gradients)),
        "state": memory(_bytes(states)),
        "said": said,
    }
    if len({len(optimizer.state.get(each, ())) for each in with_gradients}) > 1:  # some have theirs, some not yet
        return say(
            "the optimiser's state does not fit, whatever the batch: parameters {parameters}, gradients {gradients}, "
            "state {state} so far ({said}). Use an 8-bit optimiser, freeze a part of the model, or take a smaller one",
            **held,
        )
    return say(
        "the optimiser's update does not fit, whatever the batch: parameters {parameters}, gradients {gradients}, "
        "state {state}, then temporary tensors ({said}). Give the optimiser foreach=False, which needs fewer of them",
        **held,
    )


def _bytes(tensors: Iterable[Tensor]) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)
