"""Each stage of a loop by itself, then all of them together; all at the loop's own batch, dtype and threads."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import cycle
from typing import Any

import msgspec

from rigwise.records.ceilings import Ceiling, Rate
from rigwise.speech import say
from rigwise.train.ceilings.loop import Feed, Loop, batches_ahead, mapped, num_workers, tensors
from rigwise.train.ceilings.pace import Block, Sampling, measured_pass, rate_of
from rigwise.train.ceilings.parts import COPY, DATA_WAIT, STEP, Partition, watched
from rigwise.train.ceilings.timeline import HostTimeline, Timeline

NUM_CACHED = 4
"""Batches that stand for all: a single one may be longer or shorter than the rest."""


class Actual(msgspec.Struct, frozen=True, kw_only=True):
    """The whole loop as it runs."""

    rate: Rate
    wall_seconds: float
    """Per step, on the host's clock."""
    parts: dict[str, float]
    """Part -> seconds per step, on the device's clock."""


@contextmanager
def feeding(loop: Loop) -> Iterator[Feed]:
    """Endless batches of the loop's loader while inside."""
    with closing(Feed(loop.loader)) as feed:
        yield feed


def cached_batches(loop: Loop) -> list[Any]:
    """The first batches of the loader, where the loader left them."""
    with feeding(loop) as feed:
        return [next(feed) for _ in range(NUM_CACHED)]


def loader_alone(loop: Loop, sampling: Sampling) -> Rate:
    """How fast batches come when nothing else is done with them."""
    with feeding(loop) as feed:
        found = measured_pass(
            lambda: loop.count(next(feed)),
            HostTimeline(),
            sampling,
            warmup_steps=settled(loop, sampling),
            fewest_steps=turns_of_workers(loop),
        )
    return rate_of(found.blocks)


def compute_alone(loop: Loop, timeline: Timeline, placed: list[Any], sampling: Sampling) -> Rate:
    """How fast steps are on batches that are on the device already."""
    batches = cycle(placed)

    def turn() -> int:
        batch = next(batches)
        loop.step(batch)
        return loop.count(batch)

    return rate_of(_blocks(turn, timeline, sampling))


def transfers_alone(loop: Loop, timeline: Timeline, cached: list[Any], sampling: Sampling) -> list[Ceiling]:
    """How fast batches reach the device: as the loader leaves them, from pinned and from pageable memory."""
    if loop.device.type == "cpu" and not timeline.is_async:
        return [Ceiling(name="transfer", rate=None, why_not=say("the loop runs on the CPU: nothing is copied"))]
    pinned_already = any(tensor.is_pinned() for batch in cached for tensor in tensors(batch))
    found = [Ceiling(name="transfer", rate=_copying(loop, timeline, cached, sampling))]
    if loop.device.type != "cuda":
        return found
    kind = "transfer_pageable" if pinned_already else "transfer_pinned"
    other = [mapped(batch, lambda t: t.clone() if pinned_already else t.pin_memory()) for batch in cached]
    return [*found, Ceiling(name=kind, rate=_copying(loop, timeline, other, sampling))]


def _copying(loop: Loop, timeline: Timeline, cached: list[Any], sampling: Sampling) -> Rate:
    batches = cycle(cached)

    def turn() -> int:
        batch = next(batches)
        loop.place(batch)
        return loop.count(batch)

    return rate_of(_blocks(turn, timeline, sampling))


def _blocks(turn: Callable[[], int], timeline: Timeline, sampling: Sampling) -> tuple[Block, ...]:
    return measured_pass(turn, timeline, sampling, warmup_steps=sampling.warmup_steps, fewest_steps=1).blocks


def actual_loop(loop: Loop, timeline: Timeline, sampling: Sampling) -> Actual:
    """The loop itself, each step cut into its parts."""
    partition = Partition(timeline)
    with feeding(loop) as feed, watched(partition):
        found = measured_pass(
            lambda: whole_step(loop, feed, partition),
            timeline,
            sampling,
            warmup_steps=settled(loop, sampling),
            fewest_steps=turns_of_workers(loop),
            begin=partition.take,
        )
        parts = partition.take()
    return Actual(
        rate=rate_of(found.blocks),
        wall_seconds=found.wall_seconds / found.num_steps,
        parts={name: seconds / found.num_steps for name, seconds in parts.items()},
    )


def plain_step(loop: Loop, feed: Feed) -> int:
    """One turn of the loop; returns its samples."""
    batch = next(feed)
    loop.step(loop.place(batch))
    return loop.count(batch)


def whole_step(loop: Loop, feed: Feed, partition: Partition) -> int:
    """One turn of the loop, cut into parts; returns its samples."""
    partition.begin(DATA_WAIT)
    batch = next(feed)
    partition.end()
    partition.begin(COPY)
    placed = loop.place(batch)
    partition.end()
    partition.begin(STEP)
    loop.step(placed)
    partition.end()
    return loop.count(batch)


def settled(loop: Loop, sampling: Sampling) -> int:
    """Steps until the batches that were ready at the start are used up and the device has settled."""
    return max(sampling.warmup_steps, batches_ahead(loop.loader) + 1)


def turns_of_workers(loop: Loop) -> int:
    """The fewest steps in which every worker has had its turn."""
    return max(1, num_workers(loop.loader))
