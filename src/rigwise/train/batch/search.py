"""The search: short probes up and down, a soak at the largest that held, and what tells why another one did not.

Only a size that ran to the end of a soak is returned. A late failure is answered with the strongest contrast there is,
a soak at the smallest size: the same step of death there means that the batch is not the reason.
"""

from collections.abc import Callable, Iterable
from itertools import combinations
from math import ceil

import msgspec

from rigwise.errors import BadInput
from rigwise.records.batch import BatchProbe
from rigwise.speech import say
from rigwise.train.batch.causes import spilled_unseen, validations_left
from rigwise.train.batch.child import SHORT_STEPS
from rigwise.train.batch.sizes import next_size
from rigwise.train.batch.verdict import fails_anyway, leaks, others_took

SAME_STEP_RATIO = 0.05
"""Our choice: deaths within 5 % of each other's step are at the same step; a batch of another size moves it by half."""
MOST_SOAKS = 10
"""Our choice: a smaller batch meets the sample that was too large later; so many soaks long is it waited for."""
CLIFF_TIMES = 5.0
"""Our choice: a larger batch takes less time for each sample, unless its memory lies in the machine's RAM; then reports
speak of 10 to 100 times as long (https://github.com/derrian-distro/LoRA_Easy_Training_Scripts/issues/267)."""
FILLED_RATIO = 0.5
"""Our choice: with half of the memory free nothing was moved out of it."""
NOT_OF_THE_BATCH = ("crash", "hang", "fault")
Run = Callable[[int, int], BatchProbe]
"""Batch size and number of steps to what became of them."""


class Effort(msgspec.Struct, frozen=True, kw_only=True):
    """How long a size is tried before it counts as one that holds."""

    soak_steps: int = 200
    """Optimiser steps of the final proof. As many as the guided experiment's trials have."""
    planned_steps: int = 10_000
    """Of the run to come: a leak that would end it is refused, a slower one is told. Our choice."""
    silence_seconds: float = 120.0
    """A probe that shows no step for so long is taken for hung. Our choice: a first step that compiles kernels, or a
    checkpoint on a slow disk, takes less."""


class NothingFits(Exception):
    """Not even the smallest size fits; the probes say why."""


class Search:
    """One search; `probes` is what was tried, in order.

    Raises:
        BadInput: the sizes make no sense.
    """

    def __init__(
        self, run: Run, smallest: int, most: int, effort: Effort, told: Callable[[BatchProbe], object] | None = None
    ) -> None:
        if not 1 <= smallest <= most or effort.soak_steps < 1:
            raise _no_range(smallest, most, effort.soak_steps)
        self.probes: list[BatchProbe] = []
        self._run = run
        self._told = told
        self.smallest = smallest
        self.most = most
        self._effort = effort
        self._soak_steps = effort.soak_steps
        self._planned_steps = effort.planned_steps
        self._num_steps = min(SHORT_STEPS, effort.soak_steps)
        """Of the next probe; all of them are soaks once one has failed late."""

    def largest(self, first: int) -> int:
        """The largest size, within an eighth, that held to the end of a soak.

        Raises:
            NoBatchHolds: a leak, another process, or a fault that memory does not explain.
            NothingFits: the smallest size does not fit.
        """
        size = first
        while True:
            self._settle(size)
            held, failed = self._bounds()
            if not held:
                size = self._down(failed)
                continue
            following = next_size(held, failed, self.most)
            if following is None and self._soaked(held):
                return held
            if following is None:
                self._num_steps = self._soak_steps
            size = following or held

    def soaks(self, run: Run, most: int) -> "Search":
        """Another search up to a size found by this one, of soaks alone: for compiled runs, which begin slowly.

        Each size compiles for minutes, and compiling many keeps their graphs: so the size is searched without and
        compiled once (https://github.com/mosaicml/composer/issues/2214).
        """
        search = Search(run, self.smallest, most, self._effort, self._told)
        search._num_steps = self._soak_steps
        return search

    def soak(self, size: int) -> BatchProbe:
        """A soak at this size; for a size that other ranks ask for."""
        self._num_steps = self._soak_steps
        return self._settle(size)

    def _settle(self, size: int) -> BatchProbe:
        """Probe a size; where the batch may not be the reason of its failure, the smallest size too.

        Raises:
            NoBatchHolds: a leak, another process, or a fault that memory does not explain.
        """
        probe = self._probe(size)
        if probe.held or not self._doubtful(probe):
            return probe
        # Everything from here on is a soak: what fails late is not found by short probes.
        self._num_steps = max(self._num_steps, self._soak_steps if probe.steps >= SHORT_STEPS else self._num_steps)
        if size > self.smallest and not self._held_for(probe.steps + 1):
            contrast = self._probe(self.smallest, self._num_steps)
            if not contrast.held:
                self._refuse_alike(probe, contrast)
        elif size == self.smallest:
            self._refuse_alike(probe, probe)
        return probe

    def _probe(self, size: int, num_steps: int | None = None) -> BatchProbe:
        steps = num_steps or self._steps_for(size)
        probe = self._run(size, steps)
        if self._times_slower(probe) and self._times_slower(again := self._run(size, steps)):
            probe = spilled_unseen(again, self._times_slower(again))
        self.probes.append(probe)
        if self._told is not None:
            self._told(probe)
        if probe.cause == "other_process":
            raise others_took(self.probes)
        if probe.cause == "leak" or self._dies_in_the_run(probe):
            raise leaks(self.probes)
        return probe

    def _steps_for(self, size: int) -> int:
        """Steps of a probe: enough to meet the samples on which larger batches failed late, within bounds."""
        late = [probe for probe in self.probes if probe.cause == "late_peak"]
        if self._num_steps < self._soak_steps or not late:
            return self._num_steps
        if fail_at_one_step(late):
            return max(self._soak_steps, *(probe.steps + 1 for probe in late))
        samples = max((probe.steps + 1) * probe.batch_size for probe in late)
        return min(max(self._soak_steps, ceil(samples / size)), MOST_SOAKS * self._soak_steps)

    def _dies_in_the_run(self, probe: BatchProbe) -> bool:
        if probe.ended not in ("ran", "tight"):
            return False
        death = probe.growth.step_of_death if probe.growth else None
        left = validations_left(probe)
        is_last = left is not None and left * self._soak_steps <= self._planned_steps  # one validation after each soak
        return is_last or (death is not None and death <= self._planned_steps)

    def _times_slower(self, probe: BatchProbe) -> float:
        """How many times as long a sample takes as in a smaller batch, memory being half full or more; 0: no cliff."""
        free, need = probe.free_at_start_bytes, probe.need_bytes
        smaller = [each for each in self.probes if each.held and each.batch_size < probe.batch_size]
        fastest = min((each.step_seconds / each.batch_size for each in smaller if each.step_seconds), default=None)
        if not probe.held or not fastest or not probe.step_seconds or not free or (need or 0) < FILLED_RATIO * free:
            return 0.0
        times = probe.step_seconds / probe.batch_size / fastest
        return times if times >= CLIFF_TIMES else 0.0

    def _doubtful(self, probe: BatchProbe) -> bool:
        """Whether something else than the size of the batch may have ended it."""
        in_a_step = probe.phase in ("train", "soak")
        return probe.cause in NOT_OF_THE_BATCH or (probe.cause == "late_peak" and in_a_step)

    def _held_for(self, num_steps: int) -> bool:
        """Whether some size ran on for so many steps."""
        return any(probe.held and probe.steps >= num_steps for probe in self.probes)

    def _refuse_alike(self, probe: BatchProbe, contrast: BatchProbe) -> None:
        """Raise what a failure at both ends of the range means."""
        if contrast.cause in NOT_OF_THE_BATCH:
            raise fails_anyway(self.probes)
        if contrast.cause == "late_peak" and _same_step(probe, contrast):
            raise leaks(self.probes)

    def _bounds(self) -> tuple[int, int | None]:
        """The largest size that holds as far as is known (0: none yet), and the smallest above it that does not."""
        failed = min((probe.batch_size for probe in self.probes if not probe.held), default=None)
        held = [probe for probe in self.probes if probe.held and probe.steps >= self._num_steps]
        sizes = [probe.batch_size for probe in held if failed is None or probe.batch_size < failed]
        return max(sizes, default=0), failed

    def _down(self, failed: int | None) -> int:
        """The next size below one that failed, with none below it known to hold."""
        if failed is None:  # sizes held in short probes, and soaks are asked for now
            return max(probe.batch_size for probe in self.probes if probe.held)
        if failed <= self.smallest:
            raise NothingFits
        shorter = [probe.batch_size for probe in self.probes if probe.held and probe.batch_size < failed]
        return max(shorter, default=max(self.smallest, failed // 2))

    def _soaked(self, size: int) -> bool:
        steps = self._steps_for(size) if self._num_steps >= self._soak_steps else self._soak_steps
        return any(probe.held and probe.batch_size == size and probe.steps >= steps for probe in self.probes)


def fail_at_one_step(late: Iterable[BatchProbe]) -> bool:
    """Whether two sizes failed at the same step: then the step is what counts, whatever its samples are."""
    return any(_same_step(one, other) for one, other in combinations(late, 2) if one.batch_size != other.batch_size)


def _same_step(one: BatchProbe, other: BatchProbe) -> bool:
    """Whether two probes ended at the same step, as far as the ratio tells."""
    return abs(one.steps - other.steps) <= max(1, SAME_STEP_RATIO * max(one.steps, other.steps))


def _no_range(smallest: int, most: int, soak_steps: int) -> BadInput:
    return BadInput(
        say("no batch size to search"),
        say("smallest {smallest}, most {most}, {steps} steps", smallest=smallest, most=most, steps=soak_steps),
        say("give 1 <= smallest <= most, and at least one step"),
    )
