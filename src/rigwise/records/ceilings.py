"""What a training loop reaches beside what each of its stages would reach alone, and which levers were worth it.

Rates are samples per second, durations seconds per step, shares 0 to 1.
"""

from enum import StrEnum

import msgspec

from rigwise.speech import say

CEILINGS_SCHEMA = "rigwise.ceilings/1"


class Bound(StrEnum):
    """What keeps a loop from being faster."""

    LOADER = "loader"
    TRANSFER = "transfer"
    COMPUTE = "compute"
    HOST_LAUNCH = "host_launch"
    """The host submits work more slowly than the device does it."""
    BALANCED = "balanced"
    """The two lowest ceilings cannot be told apart."""
    CANNOT_TELL = "cannot_tell"
    """The measurement contradicts itself; nothing is concluded from it."""


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """Samples per second: the median of blocks of steps, and the interval of that median."""

    median: float
    low: float
    high: float
    confidence_ratio: float
    """How surely the interval holds the median: at least 0.95 where there were blocks enough."""
    num_blocks: int
    steps_per_block: int
    samples_per_step: float

    @property
    def step_seconds(self) -> float:
        """Seconds per step at the median rate."""
        return self.samples_per_step / self.median


class Ceiling(msgspec.Struct, frozen=True, kw_only=True):
    """One stage of the loop with nothing else to wait for."""

    name: str
    """`loader`, `transfer`, `transfer_pinned`, `transfer_pageable` or `compute`."""
    rate: Rate | None
    why_not: str = ""
    """Why it was not measured, in words."""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Where a step of the actual loop went."""

    name: str
    """`data_wait`, `copy`, `host_launch`, `device_compute`, `optimiser`, `synchronisation`, `logging`, `checkpoint`,
    a name the loop gave itself, or `unexplained`."""
    seconds: float
    """Per step, mean over all measured steps; `unexplained` is negative where the parts exceed the wall."""
    share_ratio: float
    """Of the step's wall time."""


class LeverResult(msgspec.Struct, frozen=True, kw_only=True):
    """One lever, tried by itself on top of those kept before it."""

    name: str
    why_not: str = ""
    """Why it cannot be tried here, or failed when tried; empty when it was measured."""
    before: float | None = None
    after: float | None = None
    """Samples per second of the whole loop: medians of the interleaved repeats."""
    gain_ratio: float | None = None
    """Median of the paired ratios after / before."""
    gain_low_ratio: float | None = None
    gain_high_ratio: float | None = None
    confidence_ratio: float | None = None
    num_pairs: int = 0
    setup_seconds: float = 0.0
    """What switching it on costs once, beyond the steps themselves: compilation, starting workers."""
    break_even_steps: int | None = None
    """Steps until that is earned back; None where it never is."""
    kept: bool = False
    because: str = ""
    """Why it was kept or not, in words."""
    recipe: str = ""
    """What to write to have it, in words or code."""


class WorkerRate(msgspec.Struct, frozen=True, kw_only=True):
    """The loader alone with a number of workers or threads."""

    num_workers: int
    rate: Rate


class CeilingsReport(msgspec.Struct, frozen=True, kw_only=True):
    """Ceilings, actual rate, verdict and levers of one loop."""

    schema: str = CEILINGS_SCHEMA
    conditions: tuple[str, ...]
    """What it was measured with: device, batch, dtype, threads, warm-up."""
    ceilings: tuple[Ceiling, ...]
    actual: Rate
    bound: Bound
    verdict: str
    """One sentence: the bound, the rates, and where the gap is."""
    refused: tuple[str, ...] = ()
    """Contradictions found in the measurement itself; where there are any, the bound is `cannot_tell`."""
    parts: tuple[Part, ...] = ()
    wall_seconds: float
    """Per step of the actual loop, on the host's clock."""
    mfu_ratio: float | None = None
    """Model FLOPs utilisation; None when it was not asked for, or was refused."""
    workers: tuple[WorkerRate, ...] = ()
    """The loader at several numbers of workers."""
    levers: tuple[LeverResult, ...] = ()
    final: Rate | None = None
    """The loop with every kept lever."""
    recipe: tuple[str, ...] = ()
    """What was kept, one line each."""

    def ceiling(self, name: str) -> Rate | None:
        """The rate of one ceiling; None where it was not measured."""
        return next((one.rate for one in self.ceilings if one.name == name), None)


def stage_words(name: str) -> str:
    """A ceiling as people call it."""
    words = {
        "loader": say("the loader"),
        "transfer": say("the copy to the device"),
        "transfer_pinned": say("the copy from pinned memory"),
        "transfer_pageable": say("the copy from pageable memory"),
        "compute": say("computing"),
    }
    return words[name]


def part_words(name: str) -> str:
    """A part of a step as people call it; a name the loop gave itself stays."""
    words = {
        "data_wait": say("waiting for data"),
        "copy": say("copy to the device"),
        "host_launch": say("launching by the host"),
        "device_compute": say("forward and backward"),
        "optimiser": say("optimiser"),
        "synchronisation": say("waiting for the device"),
        "logging": say("logging"),
        "checkpoint": say("checkpoint"),
        "unexplained": say("unexplained"),
    }
    return words.get(name, name)
