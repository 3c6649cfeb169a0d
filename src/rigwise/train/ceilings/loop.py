"""The loop under measurement, and what is done with its batches whatever they are made of."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from rigwise.errors import BadInput
from rigwise.speech import say


@dataclasses.dataclass(kw_only=True)
class Loop:
    """A training loop as its replaceable pieces: `for batch in loader: step(place(batch))`. Levers change them."""

    loader: Iterable[Any]
    step: Callable[[Any], object]
    """One training step on a batch that is on the device."""
    place: Callable[[Any], Any]
    """Brings a batch to the device."""
    count: Callable[[Any], int]
    """Samples in a batch."""
    device: torch.device
    model: nn.Module | None = None
    optimizer: torch.optim.Optimizer | None = None


class Feed:
    """Endless batches of a loader, epoch after epoch, as a training run draws them; close it to end its workers."""

    def __init__(self, loader: Iterable[Any]) -> None:
        self._loader = loader
        self._batches = started(loader)

    def __next__(self) -> Any:
        """The next batch.

        Raises:
            BadInput: an epoch holds no batch.
        """
        for batch in self._batches:
            return batch
        self._batches = started(self._loader)
        for batch in self._batches:
            return batch
        raise BadInput(
            say("the loader gives no batch"),
            say("an epoch of it ended before its first batch"),
            say("give a loader with at least one batch; drop_last=True drops a batch that is not full"),
        )

    def close(self) -> None:
        """End what feeds it."""
        close = getattr(self._batches, "close", None)
        if close is not None:
            close()
        self._batches = iter(())


def started(loader: Iterable[Any]) -> Iterator[Any]:
    """A new epoch of the loader.

    Raises:
        BadInput: it can be gone through only once, so no second measurement would be like the first.
    """
    batches = iter(loader)
    if batches is loader:
        raise BadInput(
            say("the loader can be gone through only once"),
            say("it is an iterator, {kind}; every ceiling needs a pass of its own", kind=type(loader).__name__),
            say("give what the iterator is made from, such as the DataLoader itself"),
        )
    return batches


def mapped(batch: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """The batch with every tensor in its tuples, lists and dictionaries changed; other objects stay."""
    if isinstance(batch, Tensor):
        return change(batch)
    if isinstance(batch, Mapping):
        return {key: mapped(value, change) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(mapped(value, change) for value in batch))
    if isinstance(batch, list | tuple):
        return type(batch)(mapped(value, change) for value in batch)
    return batch


def tensors(batch: Any) -> list[Tensor]:
    """Every tensor of a batch, in order."""
    found: list[Tensor] = []
    mapped(batch, lambda tensor: found.append(tensor) or tensor)  # type: ignore[func-returns-value]
    return found


def placed_on(device: torch.device) -> Callable[[Any], Any]:
    """Brings batches to `device`, without waiting where the memory is pinned."""
    return lambda batch: mapped(batch, lambda tensor: tensor.to(device, non_blocking=True))


def num_samples(batch: Any) -> int:
    """Length of the first dimension of the first tensor.

    Raises:
        BadInput: there is no such tensor.
    """
    for tensor in tensors(batch):
        if tensor.dim():
            return len(tensor)
    raise BadInput(
        say("cannot count the samples of a batch"),
        say("there is no tensor in it that has a first dimension: {kind}", kind=type(batch).__name__),
        say("say how to count: ceilings(loader, step, count=lambda batch: ...)"),
    )


def num_workers(loader: Iterable[Any]) -> int:
    """Worker processes or threads of a loader, as far as it says so; 0 when it works in the loop's own thread."""
    return int(getattr(loader, "num_workers", 0) or getattr(loader, "num_threads", 0) or 0)


def batches_ahead(loader: Iterable[Any]) -> int:
    """How many finished batches a loader may hold ready: those must be used up before its own pace shows."""
    return num_workers(loader) * int(getattr(loader, "prefetch_factor", None) or 2)
