"""The update: which optimiser, and whether it waits for the end of backward."""

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from rigwise.errors import BadInput
from rigwise.speech import say
from rigwise.train.knobs.section import KnobsSection

MOMENTUM = 0.9
"""Sutskever et al., On the importance of initialization and momentum, ICML 2013: the usual choice."""


def optimizer_of(
    model: nn.Module, knobs: KnobsSection, *, learning_rate: float, weight_decay: float
) -> torch.optim.Optimizer:
    """The optimiser a recipe asks for, over the parameters that learn.

    Raises:
        BadInput: its library is not installed, or several ranks cannot have it.
    """
    learning = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer: torch.optim.Optimizer = _MAKERS[knobs.optimizer](learning, lr=learning_rate, weight_decay=weight_decay)
    if knobs.optimizer_in_backward:
        step_in_backward(optimizer)
    return optimizer


def step_in_backward(optimizer: torch.optim.Optimizer) -> None:
    """From now on backward updates each parameter as soon as its gradient is there, and frees that gradient.

    The optimiser's own `step`, called afterwards as always, finds no gradient and does nothing; schedules and
    `state_dict` are as without. https://docs.pytorch.org/tutorials/intermediate/optimizer_step_in_backward_tutorial.html

    Raises:
        BadInput: this is one rank of several, whose gradients are averaged only later.
    """
    if dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1:
        raise BadInput(
            say("optimizer_in_backward does not work with several ranks"),
            say("a gradient would be used before the ranks have averaged it"),
            say("set optimizer_in_backward = false under [knobs]"),
        )
    for number, group in enumerate(optimizer.param_groups):
        for parameter in group["params"]:
            parameter.register_post_accumulate_grad_hook(_updater(optimizer, number))


def _updater(optimizer: torch.optim.Optimizer, number: int) -> Callable[[Tensor], None]:
    """Takes one step of group `number` for one parameter alone."""

    def update(parameter: Tensor) -> None:
        groups = optimizer.param_groups
        optimizer.param_groups = [{**groups[number], "params": [parameter]}]
        try:
            optimizer.step()
        finally:
            optimizer.param_groups = groups
        parameter.grad = None

    return update


def _adamw_fused(parameters: list[Tensor], **options: Any) -> torch.optim.Optimizer:
    return torch.optim.AdamW(parameters, fused=True, **options)


def _adamw8bit(parameters: list[Tensor], **options: Any) -> torch.optim.Optimizer:
    try:
        from bitsandbytes.optim import AdamW8bit
    except ImportError as error:
        raise BadInput(
            say("the optimiser adamw8bit needs the package bitsandbytes"),
            str(error),
            say("pip install 'rigwise[memory]', or set another optimizer under [knobs]"),
        ) from error
    made: torch.optim.Optimizer = AdamW8bit(parameters, **options)
    return made


def _sgd(parameters: list[Tensor], **options: Any) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, momentum=MOMENTUM, nesterov=True, **options)


_MAKERS: dict[str, Callable[..., Any]] = {
    "adamw": torch.optim.AdamW,
    "adamw_fused": _adamw_fused,
    "adamw8bit": _adamw8bit,
    "adafactor": torch.optim.Adafactor,
    "sgd": _sgd,
}
