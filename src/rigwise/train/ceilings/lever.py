"""A lever: one thing about a loop that can be switched on and off again."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from rigwise.train.ceilings.loop import Loop

Change = Callable[[Loop], None]


class Lever(msgspec.Struct, frozen=True, kw_only=True):
    """Something that may make a loop faster. `apply` and `undo` are called in turn, several times.

    Example:
        Lever(name="log every 50 steps", apply=lambda loop: logger.every(50), undo=lambda loop: logger.every(1))
    """

    name: str
    apply: Change = lambda loop: None
    undo: Change = lambda loop: None
    why_not: str = ""
    """Why it cannot be tried here, in words; it is then told, and not tried."""
    recipe: str = ""
    """What to write to have it, in words or code; the name when empty."""


def cannot(name: str, why_not: str) -> Lever:
    """A lever that is told, with the reason why it is not tried."""
    return Lever(name=name, why_not=why_not)


def setting(name: str, owner: object, attribute: str, value: object, recipe: str = "") -> Lever:
    """A lever that sets one attribute of anything: a logging interval, a flag."""
    before: list[Any] = []

    def apply(_: Loop) -> None:
        before.append(getattr(owner, attribute))
        setattr(owner, attribute, value)

    def undo(_: Loop) -> None:
        if before:
            setattr(owner, attribute, before.pop())

    return Lever(name=name, apply=apply, undo=undo, recipe=recipe)


def replaced(name: str, attribute: str, new: Callable[[Any], Any], recipe: str = "") -> Lever:
    """A lever that replaces one piece of the loop by what `new` makes of it, and puts the old one back."""
    before: list[Any] = []

    def apply(loop: Loop) -> None:
        old = getattr(loop, attribute)
        setattr(loop, attribute, new(old))
        before.append(old)

    def undo(loop: Loop) -> None:
        if before:
            setattr(loop, attribute, before.pop())

    return Lever(name=name, apply=apply, undo=undo, recipe=recipe)


def other_loader(name: str, loader: Iterable[Any], recipe: str = "") -> Lever:
    """A lever that feeds the loop from another loader, such as one over cached samples."""
    return replaced(name, "loader", lambda _: loader, recipe)
