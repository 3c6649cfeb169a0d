"""The levers every loop has, as far as its pieces are known; those that cannot be tried say why."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import msgspec
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

from rigwise.speech import say
from rigwise.train.ceilings.lever import Change, Lever, cannot, replaced
from rigwise.train.ceilings.loop import Loop, mapped, num_workers
from rigwise.train.ceilings.parts import LOGGING
from rigwise.train.ceilings.workers import WithWorkers, rebuilt
from rigwise.units import share

PREFETCH_FACTOR = 4
"""Batches each worker holds ready; PyTorch's own default is 2."""
LITTLE_RATIO = 0.01
"""Our choice: what takes less than this share of a step is not worth a lever."""


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What the measurement of a loop already showed."""

    shares: Mapping[str, float] = {}
    """Part -> its share of a step, 0 to 1."""
    knee: int | None = None
    """The fewest workers that feed as fast as any number; None where that was not measured."""
    with_workers: WithWorkers | None = None
    """Makes the loader anew; None where nobody can."""
    under_autocast: bool = False
    """Whether the model's forward pass runs in a lower precision already."""


def usual_levers(loop: Loop, seen: Seen) -> list[Lever]:
    """Every lever of the table, loader first: what feeds the device decides what else can be seen."""
    return [
        worker_lever(loop, seen.knee, seen.with_workers),
        pinned_lever(loop),
        prefetch_lever(loop),
        channels_last_lever(loop),
        cannot(say("bf16 autocast"), say("it is on already")) if seen.under_autocast else amp_lever(loop),
        fused_lever(loop),
        batch_lever(loop),
        logging_lever(seen.shares),
        cannot(say("cache"), say("only where a loader over cached samples is given")),
        compile_lever(loop) if loop.device.type == "cuda" else cannot(say("torch.compile"), _only_on_a_gpu()),
    ]


def _only_on_a_gpu() -> str:
    # Our choice; who wants it on the CPU gives `compile_lever` as a lever of their own.
    return say("only on a GPU: on the CPU compiling takes a minute or more")


def runs_under_autocast(loop: Loop, placed: Any) -> bool:
    """Whether the forward pass of the loop's model runs under autocast; takes one step."""
    if loop.model is None:
        return False
    found: list[bool] = []
    hook = loop.model.register_forward_pre_hook(lambda *_: found.append(torch.is_autocast_enabled(loop.device.type)))
    try:
        loop.step(placed)
    finally:
        hook.remove()
    return any(found)


def worker_lever(loop: Loop, knee: int | None, with_workers: WithWorkers | None) -> Lever:
    """As many workers as the loader's own pace asks for, never more than cores."""
    if knee is None or with_workers is None:
        return cannot(say("workers"), say("only a DataLoader, or one from with_workers=, has other numbers"))
    now = num_workers(loop.loader)
    if knee == now:
        return cannot(say("workers"), say("{count} is the best of those tried already", count=now))
    name = say("workers: {count} instead of {now}", count=knee, now=now)
    return replaced(name, "loader", lambda _: with_workers(knee), f"num_workers={knee}")


def pinned_lever(loop: Loop) -> Lever:
    """Page-locked host memory, from which copies do not wait."""
    name = say("pinned memory")
    if loop.device.type != "cuda":
        return cannot(name, say("the loop does not run on a GPU"))
    if not isinstance(loop.loader, DataLoader):
        return cannot(name, say("only a DataLoader can be made with another setting"))
    if loop.loader.pin_memory:
        return cannot(name, say("it is on already"))
    return replaced(name, "loader", lambda loader: rebuilt(loader, pin_memory=True), "pin_memory=True")


def prefetch_lever(loop: Loop) -> Lever:
    """More batches held ready by each worker."""
    name = say("prefetch")
    if not isinstance(loop.loader, DataLoader) or not loop.loader.num_workers:
        return cannot(name, say("no worker processes, so nothing is fetched ahead"))
    if (loop.loader.prefetch_factor or 0) >= PREFETCH_FACTOR:
        return cannot(name, say("it is on already"))

    def more(loader: Any) -> Any:
        # An earlier lever may have taken the workers away.
        return rebuilt(loader, prefetch_factor=PREFETCH_FACTOR) if num_workers(loader) else loader

    return replaced(name, "loader", more, f"prefetch_factor={PREFETCH_FACTOR}")


def channels_last_lever(loop: Loop) -> Lever:
    """Pictures and weights with the channels of a pixel side by side."""
    name = say("channels_last")
    model = loop.model
    if model is None:
        return _no_model(name)
    if not any(isinstance(part, nn.Conv2d) for part in model.modules()):
        return cannot(name, say("the model has no 2-D convolution"))
    pictures = replaced(name, "place", lambda place: lambda batch: mapped(place(batch), _channels_last))

    def apply(changed: Loop) -> None:
        model.to(memory_format=torch.channels_last)
        pictures.apply(changed)

    def undo(changed: Loop) -> None:
        model.to(memory_format=torch.contiguous_format)
        pictures.undo(changed)

    recipe = "model.to(memory_format=torch.channels_last); images.to(memory_format=torch.channels_last)"
    return Lever(name=name, apply=apply, undo=undo, recipe=recipe)


def _channels_last(tensor: Tensor) -> Tensor:
    return tensor.contiguous(memory_format=torch.channels_last) if tensor.dim() == 4 else tensor


def amp_lever(loop: Loop) -> Lever:
    """bf16 in the forward pass; what the model returns is fp32 again, so that the loss is."""
    name = say("bf16 autocast")
    if loop.model is None:
        return _no_model(name)
    if loop.device.type == "cuda" and torch.cuda.get_device_capability(loop.device) < (8, 0):
        return cannot(name, say("this GPU only emulates bf16; fp16 needs a gradient scaler in your loop"))
    kind = loop.device.type

    def under_autocast(forward: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(forward)
        def inner(*args: Any, **kwargs: Any) -> Any:
            with torch.autocast(kind, torch.bfloat16):
                return mapped(forward(*args, **kwargs), lambda t: t.float() if t.is_floating_point() else t)

        return inner

    apply, undo = _forward_replaced(loop.model, under_autocast)
    recipe = f'with torch.autocast("{kind}", torch.bfloat16): model(...)'
    return Lever(name=name, apply=apply, undo=undo, recipe=recipe)


def compile_lever(loop: Loop) -> Lever:
    """The model through torch.compile; compiling is charged to it."""
    name = say("torch.compile")
    if loop.model is None:
        return _no_model(name)
    apply, undo = _forward_replaced(loop.model, torch.compile)
    return Lever(name=name, apply=apply, undo=undo, recipe="model = torch.compile(model)")


def _forward_replaced(model: nn.Module, new: Callable[[Callable[..., Any]], Any]) -> tuple[Change, Change]:
    """Switches `model.forward` to what `new` makes of it, made once, and back."""
    made: list[Any] = []
    had: Any = None

    def apply(_: Loop) -> None:
        nonlocal had
        had = model.__dict__.get("forward")
        if not made:
            made.append(new(model.forward))
        model.forward = made[0]

    def undo(_: Loop) -> None:
        if had is None:
            model.__dict__.pop("forward", None)
        else:
            model.forward = had

    return apply, undo


def fused_lever(loop: Loop) -> Lever:
    """All parameters of an update in one kernel."""
    name, optimizer = say("fused optimiser"), loop.optimizer
    if optimizer is None:
        return cannot(name, say("give the optimiser: ceilings(loader, step, optimizer=...)"))
    if "fused" not in optimizer.defaults:
        return cannot(name, say("{optimizer} has no fused kind", optimizer=type(optimizer).__name__))
    if any(group.get("fused") for group in optimizer.param_groups):
        return cannot(name, say("it is on already"))
    before = [(group, group.get("fused"), group.get("foreach")) for group in optimizer.param_groups]

    def apply(_: Loop) -> None:
        for group, *_before in before:
            group["fused"], group["foreach"] = True, False
        _put_step_counts(optimizer, on_device=True)

    def undo(_: Loop) -> None:
        for group, fused, foreach in before:
            group["fused"], group["foreach"] = fused, foreach
        _put_step_counts(optimizer, on_device=False)

    return Lever(name=name, apply=apply, undo=undo, recipe=f"{type(optimizer).__name__}(..., fused=True)")


def _put_step_counts(optimizer: torch.optim.Optimizer, *, on_device: bool) -> None:
    """Fused updates count their steps on the device, the others on the CPU (torch/optim/adam.py, _init_group)."""
    for parameter, state in optimizer.state.items():
        if isinstance(state.get("step"), Tensor):
            state["step"] = state["step"].to(parameter.device if on_device else "cpu")


def batch_lever(loop: Loop) -> Lever:
    """Twice the batch: another training, unless the learning rate or the accumulation follows."""
    name, loader = say("batch"), loop.loader
    if not isinstance(loader, DataLoader) or loader.batch_size is None:
        return cannot(name, say("only a DataLoader with a batch size can be made with another"))
    size = 2 * loader.batch_size
    if size > len(getattr(loader, "dataset", ())):
        return cannot(name, say("there are fewer than {size} samples", size=size))
    recipe = say("batch_size={size}, and half the accumulation, or the learning rate to match", size=size)
    return replaced(
        say("batch: {size} instead of {now}", size=size, now=loader.batch_size),
        "loader",
        lambda loader: rebuilt(loader, batch_size=size),
        recipe,
    )


def logging_lever(shares: Mapping[str, float]) -> Lever:
    """Logging less often: only the loop knows how."""
    name, logging = say("logging interval"), shares.get(LOGGING)
    if logging is None:
        return cannot(name, say('no part named "logging" was met; mark it: with rigwise.part("logging")'))
    if logging < LITTLE_RATIO:
        return cannot(name, say("logging takes {share} of a step: nothing to gain", share=share(logging)))
    words = say("logging takes {share} of a step; say how to log less: setting(...)", share=share(logging))
    return cannot(name, words)


def _no_model(name: str) -> Lever:
    return cannot(name, say("give the model: ceilings(loader, step, model=...)"))
