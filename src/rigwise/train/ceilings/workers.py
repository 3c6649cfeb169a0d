"""The loader alone with other numbers of workers: where more of them bring nothing more."""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from torch.utils.data import DataLoader, IterableDataset

from rigwise.records.ceilings import WorkerRate
from rigwise.train.ceilings.loop import Loop, num_workers
from rigwise.train.ceilings.pace import Sampling
from rigwise.train.ceilings.stages import loader_alone

WithWorkers = Callable[[int], Iterable[Any]]
"""Makes the loader with so many workers or threads."""

WORTH_A_WORKER_RATIO = 0.1
"""Our choice: a worker that adds less of the loader's rate is not worth its core and its RAM."""


def rebuilt(loader: "DataLoader[Any]", **changes: Any) -> "DataLoader[Any]":
    """The same loader with other settings; its dataset, order, collation and random generator are shared."""
    workers = changes.get("num_workers", loader.num_workers)
    kept: dict[str, Any] = {
        "collate_fn": loader.collate_fn,
        "num_workers": workers,
        "pin_memory": loader.pin_memory,
        "timeout": loader.timeout if workers else 0,
        "worker_init_fn": loader.worker_init_fn,
        "generator": loader.generator,
    }
    if workers:
        kept |= {"prefetch_factor": loader.prefetch_factor, "persistent_workers": loader.persistent_workers}
        kept |= {"multiprocessing_context": loader.multiprocessing_context}
    return DataLoader(loader.dataset, **(kept | _batching(loader, changes.pop("batch_size", None)) | changes))


def _batching(loader: "DataLoader[Any]", batch_size: int | None) -> dict[str, Any]:
    """How samples become batches; the sampler itself is handed on, so that the order stays the loader's."""
    if batch_size is None and loader.batch_sampler is not None:
        return {"batch_sampler": loader.batch_sampler}
    size = loader.batch_size if batch_size is None else batch_size
    sampler = None if isinstance(loader.dataset, IterableDataset) else loader.sampler
    return {"batch_size": size, "sampler": sampler, "drop_last": loader.drop_last}


def ways_to_make(loader: Iterable[Any]) -> WithWorkers | None:
    """How to make a loader with other workers; None where only its owner knows."""
    if not isinstance(loader, DataLoader):
        return None
    return lambda count: rebuilt(loader, num_workers=count)


def candidates(now: int, cores: int) -> list[int]:
    """Numbers of workers worth trying: none, the powers of two up to the usable cores, the cores, and the present one.

    Never more than cores, but for the number in use: whether that is too many is just what is asked.

    >>> candidates(now=1, cores=1), candidates(now=16, cores=6)
    ([0, 1], [0, 1, 2, 4, 6, 16])
    """
    powers = [2**exponent for exponent in range(cores.bit_length()) if 2**exponent <= cores]
    return sorted({0, *powers, cores, now})


def sweep(loop: Loop, with_workers: WithWorkers, cores: int, sampling: Sampling) -> tuple[WorkerRate, ...]:
    """The loader's own rate at each candidate; what is in use is not made anew."""
    now = num_workers(loop.loader)
    return tuple(
        WorkerRate(
            num_workers=count,
            rate=loader_alone(
                loop if count == now else dataclasses.replace(loop, loader=with_workers(count)), sampling
            ),
        )
        for count in candidates(now, cores)
    )


def knee(rates: Sequence[WorkerRate], cores: int) -> int:
    """The fewest workers that feed about as fast as the best number; at most as many as cores.

    Only what is worth trying is chosen here: whether the loop gains from it, the lever's own pairs decide.
    """
    allowed = [one for one in rates if one.num_workers <= cores]
    best = max(one.rate.median for one in allowed)
    return min(one.num_workers for one in allowed if one.rate.median >= best * (1 - WORTH_A_WORKER_RATIO))
