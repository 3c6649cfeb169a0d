"""Rates in blocks of steps: warm-up left out, the device synchronised, the interval told beside the median.

Single batches have no rate of their own: four workers hand over four at once, then none. So a block is several steps,
long enough for the workers to take turns. Blocks follow each other without a synchronisation, which would empty the
device's queue and show waits that a running loop hides; their ends are marks on the device's timeline.
"""

import math
import statistics
import time
from collections.abc import Callable, Sequence
from itertools import pairwise

import msgspec

from rigwise.records.ceilings import Rate
from rigwise.statistics import median_interval
from rigwise.train.ceilings.timeline import Timeline

NUM_BLOCKS = 9
"""Our choice: the smallest number whose second and eighth value bound the median with 95 % confidence (96.1 %), so that
one disturbed block on either side does not widen the interval."""
WARMUP_STEPS = 5
"""Our choice, at least: memory is taken and kernels are chosen in the first steps."""
MOST_STEPS_PER_BLOCK = 300
"""Each step leaves marks that are read at the end."""


SHORTEST_SECONDS = 1e-9
"""The resolution of the host's clock: a block that took no time at all has no rate."""


class Sampling(msgspec.Struct, frozen=True, kw_only=True):
    """How long is measured."""

    seconds: float = 2.0
    """Of each stage, about; slow steps take longer, because a block holds at least one step."""
    lever_seconds: float = 4.0
    """Of each lever, about, both sides together."""
    max_seconds: float = 180.0
    """Of all levers together; those that no longer fit are told as not tried."""
    num_blocks: int = NUM_BLOCKS
    warmup_steps: int = WARMUP_STEPS


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """Some steps in a row."""

    samples: int
    steps: int
    seconds: float
    """By the device's clock."""


class Pass(msgspec.Struct, frozen=True, kw_only=True):
    """Blocks that followed each other."""

    blocks: tuple[Block, ...]
    wall_seconds: float
    """Of all of them, by the host's clock, the device synchronised before and after."""

    @property
    def num_steps(self) -> int:
        """Steps of all blocks."""
        return sum(block.steps for block in self.blocks)


def in_a_row(turn: Callable[[], int], timeline: Timeline, num_blocks: int, steps: int) -> list[Block]:
    """Blocks of so many turns, with everything they submitted; each turn gives the number of its samples."""
    marks = [timeline.mark()]
    samples = []
    for _ in range(num_blocks):
        samples.append(sum(turn() for _ in range(steps)))
        marks.append(timeline.mark())
    timeline.synchronize()
    lengths = [late.seconds_since(early) for early, late in pairwise(marks)]
    return [
        Block(samples=count, steps=steps, seconds=max(seconds, SHORTEST_SECONDS))
        for count, seconds in zip(samples, lengths, strict=True)
    ]


def measured_pass(
    turn: Callable[[], int],
    timeline: Timeline,
    sampling: Sampling,
    *,
    warmup_steps: int,
    fewest_steps: int,
    begin: Callable[[], object] = lambda: None,
) -> Pass:
    """`sampling.num_blocks` equal blocks of at least `fewest_steps`; `begin` is called when the warm-up is over."""
    in_a_row(turn, timeline, 1, warmup_steps)
    (pilot,) = in_a_row(turn, timeline, 1, fewest_steps)
    wanted = math.ceil(sampling.seconds / sampling.num_blocks / (pilot.seconds / pilot.steps))
    steps = max(fewest_steps, min(MOST_STEPS_PER_BLOCK, wanted))
    begin()
    began = time.perf_counter()
    blocks = in_a_row(turn, timeline, sampling.num_blocks, steps)
    return Pass(blocks=tuple(blocks), wall_seconds=time.perf_counter() - began)


def rate_of(measured: Sequence[Block]) -> Rate:
    """The median rate of the blocks, samples per second, with an order-statistic interval."""
    rates = [block.samples / block.seconds for block in measured]
    low, high, reached = median_interval(rates)
    steps = sum(block.steps for block in measured)
    return Rate(
        median=statistics.median(rates),
        low=low,
        high=high,
        confidence_ratio=reached,
        num_blocks=len(measured),
        steps_per_block=measured[0].steps,
        samples_per_step=sum(block.samples for block in measured) / steps,
    )
