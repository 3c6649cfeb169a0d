"""What has a state: a model, an optimiser, a schedule, a loss scale, a loader. Taken, compared and put back."""

from collections.abc import Mapping
from typing import Any, Protocol

import torch
from torch import nn

from rigwise.errors import BadInput
from rigwise.speech import say


class Stateful(Protocol):
    """A model, optimiser, schedule, scaler, loader, or anything else that goes on from a state."""

    def state_dict(self) -> Any:
        """What it holds."""

    def load_state_dict(self, state_dict: Any, /) -> Any:
        """Take that again."""


def states_of(parts: Mapping[str, Stateful]) -> dict[str, Any]:
    """Class and state of each part; of a model also the buffers that its own state leaves out."""
    return {name: {"class": _class(part), "state": _state(part)} for name, part in parts.items()}


def put_back(states: Mapping[str, Any], parts: Mapping[str, Stateful]) -> None:
    """Every part goes on from its state; none is touched when names or shapes differ.

    Raises:
        BadInput: naming the first difference.
    """
    difference = _first_difference(states, parts)
    if difference is not None:
        raise _unfit(difference)
    for name, part in parts.items():
        try:
            _put_back(part, states[name]["state"])
        except (RuntimeError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise _unfit(say("{name}: {error}", name=name, error=error)) from error


def _unfit(difference: str) -> BadInput:
    return BadInput(
        say("the checkpoint does not fit this training"),
        difference,
        say("train what the checkpoint is of, or start anew in another folder"),
    )


def _class(part: Stateful) -> str:
    return type(part).__qualname__


def _state(part: Stateful) -> Any:
    if not isinstance(part, nn.Module):
        return part.state_dict()
    return {"state": part.state_dict(), "buffers": _unsaved_buffers(part)}


def _unsaved_buffers(module: nn.Module) -> dict[str, torch.Tensor]:
    """By name, the buffers registered with `persistent=False`."""
    saved = module.state_dict().keys()
    return {name: buffer for name, buffer in module.named_buffers() if name not in saved}


def _put_back(part: Stateful, state: Any) -> None:
    if not isinstance(part, nn.Module):
        part.load_state_dict(state)
        return
    part.load_state_dict(state["state"])
    with torch.no_grad():
        for name, buffer in _unsaved_buffers(part).items():
            buffer.copy_(state["buffers"][name])


def _first_difference(states: Mapping[str, Any], parts: Mapping[str, Stateful]) -> str | None:
    for name in parts:
        if name not in states:
            return say("{name}: not in the checkpoint, which holds {all}", name=name, all=", ".join(states))
    for name, state in states.items():
        if name not in parts:
            return say("{name}: in the checkpoint, but not given", name=name)
        if state["class"] != _class(parts[name]):
            return say(
                "{name} was {before}, and is {now} here", name=name, before=state["class"], now=_class(parts[name])
            )
    models = {name: part for name, part in parts.items() if isinstance(part, nn.Module)}
    differences = (_first_other(name, _shapes(states[name]["state"]), _shapes(_state(models[name]))) for name in models)
    return next(filter(None, differences), None)


def _shapes(state: Any) -> dict[str, str]:
    """Tensor name to shape and type, in words."""
    tensors = {**state["state"], **state["buffers"]}
    return {
        name: f"{tuple(each.shape)} {str(each.dtype).removeprefix('torch.')}"
        for name, each in tensors.items()
        if isinstance(each, torch.Tensor)
    }


def _first_other(part: str, saved: Mapping[str, str], here: Mapping[str, str]) -> str | None:
    for name in [*here, *saved]:
        before, now = saved.get(name), here.get(name)
        if before is None:
            return say("{part}: {name} is not in the checkpoint", part=part, name=name)
        if now is None:
            return say("{part}: {name} is in the checkpoint only", part=part, name=name)
        if before != now:
            return say(
                "{part}: {name} is {before} in the checkpoint, {now} here",
                part=part,
                name=name,
                before=before,
                now=now,
            )
    return None
