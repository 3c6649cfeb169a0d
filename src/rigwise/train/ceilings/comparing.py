"""Levers one at a time, with and without in turn, kept only when the gain is beyond the noise.

Each pair of blocks is measured in the other order than the one before (A B, B A, A B ...): a machine that gets slower
or faster meanwhile then favours neither side. What a kept lever gained is the ground the next one stands on.
"""

import math
import statistics
import time
from collections.abc import Iterator, Sequence

import msgspec

from rigwise.errors import BadInput
from rigwise.records.ceilings import LeverResult
from rigwise.speech import say
from rigwise.statistics import median_interval
from rigwise.train.ceilings.lever import Lever
from rigwise.train.ceilings.loop import Loop
from rigwise.train.ceilings.pace import Block, Sampling, in_a_row
from rigwise.train.ceilings.stages import feeding, plain_step, settled, turns_of_workers
from rigwise.train.ceilings.timeline import Timeline
from rigwise.units import duration, percent, significant

NUM_PAIRS = 6
"""The fewest for which all of them bound the median with 95 % confidence (96.9 %)."""
SMALLEST_GAIN = 0.02
"""Our choice: a gain below 2 % is not worth a line in a recipe, and of a dozen levers without effect one or the other
comes out ahead six times in six."""


class Sides(msgspec.Struct, frozen=True, kw_only=True):
    """The repeats of one lever."""

    before: tuple[Block, ...]
    after: tuple[Block, ...]
    setup_seconds: float
    """What switching on cost the first time, beyond the steps done meanwhile."""


def try_levers(
    loop: Loop,
    timeline: Timeline,
    levers: Sequence[Lever],
    sampling: Sampling,
    planned_steps: int | None,
    on: list[Lever],
) -> Iterator[LeverResult]:
    """The result of each lever as it becomes known; those kept stay applied and are added to `on`.

    Args:
        loop: changed by the levers.
        timeline: of the loop's device.
        levers: tried in this order.
        sampling: how long is measured.
        planned_steps: steps the loop will run; what earns its set-up back later than that is not kept.
        on: the levers that are applied; the caller undoes them, last first.
    """
    until = time.monotonic() + sampling.max_seconds
    for lever in levers:
        if lever.why_not:
            yield LeverResult(name=lever.name, why_not=lever.why_not)
        elif time.monotonic() >= until:
            limit = duration(sampling.max_seconds)
            yield LeverResult(name=lever.name, why_not=say("the {limit} for levers were over", limit=limit))
        else:
            result = try_lever(loop, timeline, lever, sampling, planned_steps)
            if result.kept:
                lever.apply(loop)
                on.append(lever)
            yield result


def try_lever(
    loop: Loop, timeline: Timeline, lever: Lever, sampling: Sampling, planned_steps: int | None
) -> LeverResult:
    """What a lever gained; it is switched off again whatever happens."""
    try:
        sides = _sides(loop, timeline, lever, sampling)
    except BadInput:
        raise
    except Exception as error:  # a lever is foreign code: whatever it raises is its result
        text = str(error).splitlines() or [type(error).__name__]
        return LeverResult(name=lever.name, why_not=say("it failed: {error}", error=text[0][:200]))
    return judge(lever, sides, planned_steps)


def _sides(loop: Loop, timeline: Timeline, lever: Lever, sampling: Sampling) -> Sides:
    """The repeats, in pairs of alternating order."""
    pilot = _block(loop, timeline, turns_of_workers(loop))
    steps = max(
        turns_of_workers(loop),
        math.ceil(sampling.lever_seconds / (2 * NUM_PAIRS) / (pilot.seconds / pilot.steps)),
    )
    first = _switched_on(loop, timeline, lever, steps)
    before: list[Block] = []
    after: list[Block] = []
    for number in range(NUM_PAIRS):
        for with_lever in (False, True) if number % 2 == 0 else (True, False):
            if with_lever:
                after.append(_with(loop, timeline, lever, steps)[0])
            else:
                before.append(_block(loop, timeline, steps))
    steady = statistics.median(block.seconds / block.steps for block in after)
    return Sides(before=tuple(before), after=tuple(after), setup_seconds=max(0.0, first.seconds - first.steps * steady))


def _switched_on(loop: Loop, timeline: Timeline, lever: Lever, steps: int) -> Block:
    """The first time with the lever, switching on included: compiling, starting workers, the first steps."""
    began = time.perf_counter()
    _, num_steps = _with(loop, timeline, lever, steps)
    return Block(samples=0, steps=num_steps, seconds=time.perf_counter() - began)


def _with(loop: Loop, timeline: Timeline, lever: Lever, steps: int) -> tuple[Block, int]:
    """A block with the lever on, and all steps that were done for it."""
    try:
        lever.apply(loop)
        return _block(loop, timeline, steps), steps + settled_shortly(loop)
    finally:
        lever.undo(loop)


def _block(loop: Loop, timeline: Timeline, steps: int) -> Block:
    """A block of the whole loop, its own short warm-up left out."""
    with feeding(loop) as feed:
        for _ in range(settled_shortly(loop)):
            plain_step(loop, feed)
        (block,) = in_a_row(lambda: plain_step(loop, feed), timeline, 1, steps)
    return block


def settled_shortly(loop: Loop) -> int:
    """Warm-up steps of a block: the loop has settled long ago, only the batches that lay ready are used up."""
    return settled(loop, Sampling(warmup_steps=2))


def judge(lever: Lever, sides: Sides, planned_steps: int | None) -> LeverResult:
    """Whether a lever is kept, from its repeats alone."""
    before, after = ([block.samples / block.seconds for block in side] for side in (sides.before, sides.after))
    ratios = [late / early for early, late in zip(before, after, strict=True)]
    gain, (low, high, reached) = statistics.median(ratios), median_interval(ratios)
    even = break_even_steps(sides)
    kept, because = _decision(gain, low, high, even, planned_steps, sides.setup_seconds)
    return LeverResult(
        name=lever.name,
        before=statistics.median(before),
        after=statistics.median(after),
        gain_ratio=gain,
        gain_low_ratio=low,
        gain_high_ratio=high,
        confidence_ratio=reached,
        num_pairs=len(ratios),
        setup_seconds=sides.setup_seconds,
        break_even_steps=even,
        kept=kept,
        because=because,
        recipe=lever.recipe or lever.name,
    )


def break_even_steps(sides: Sides) -> int | None:
    """Steps after which the set-up is earned back; None when a sample takes no less time than before.

    Counted in steps of the loop without the lever, so that another batch size is compared sample by sample.
    """
    per_sample_before, per_sample_after = (
        statistics.median(block.seconds / block.samples for block in side) for side in (sides.before, sides.after)
    )
    saved = (per_sample_before - per_sample_after) * sides.before[0].samples / sides.before[0].steps
    return math.ceil(sides.setup_seconds / saved) if saved > 0 else None


def _decision(
    gain: float, low: float, high: float, even: int | None, planned_steps: int | None, setup_seconds: float
) -> tuple[bool, str]:
    interval = say("{low} to {high}", low=significant(low), high=significant(high))
    if high < 1:
        return False, say("slower: {gain} of the rate before ({interval})", gain=percent(gain), interval=interval)
    if low <= 1:
        return False, say("within the noise: {gain} times ({interval})", gain=significant(gain), interval=interval)
    if gain < 1 + SMALLEST_GAIN or even is None:
        return False, say("under {least} gained ({interval})", least=percent(SMALLEST_GAIN), interval=interval)
    words = say("{gain} times as fast ({interval})", gain=significant(gain), interval=interval)
    if planned_steps is not None and even > planned_steps:
        setup = duration(setup_seconds)
        late = say("its {setup} are earned back after {steps} steps", setup=setup, steps=f"{even:,}")
        return False, say("{words}, but {late}; {planned} are planned", words=words, late=late, planned=planned_steps)
    return True, words
