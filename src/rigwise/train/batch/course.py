"""What a child told of its probe, and what that makes of it: how it ended, what it took, whether memory grew."""

import signal
from itertools import pairwise
from statistics import median
from typing import Any

import msgspec

from rigwise.records.batch import Ended, Growth, Phase, PhasePeak
from rigwise.records.gpu import GpuProcess
from rigwise.sources.children import Ending
from rigwise.speech import say
from rigwise.train.batch.causes import Evidence
from rigwise.train.batch.child import SETTLED_STEPS, Entered, Failed, Ran, Reached, Started
from rigwise.train.batch.growth import kept_by_validation, memory_growth
from rigwise.train.batch.recognise import out_of_memory
from rigwise.train.headroom import LARGEST_SHARE
from rigwise.train.step.device import DeviceMemory
from rigwise.units import duration

LAST_LINES = 10
"""Our choice: of what a process printed before it ended; earlier lines may tell of errors it overcame."""


class Course:
    """What a child told."""

    def __init__(self) -> None:
        self.started: Started | None = None
        self.phase: Phase = "start"
        self.reached: list[Reached] = []
        self.last: Failed | Ran | None = None

    def note(self, message: Any) -> None:
        """Take one message of the child."""
        match message:
            case Started():
                self.started = message
            case Entered(phase=phase):
                self.phase = phase
            case Reached():
                self.reached.append(message)
            case Failed() | Ran():
                self.last = message

    @property
    def steps(self) -> int:
        """Optimiser steps that ran to the end."""
        return self.reached[-1].steps if self.reached else 0

    def ended(self, ending: Ending) -> Ended:
        """The kind of ending; what ran is still held against the memory it needed."""
        if isinstance(self.last, Failed):
            return "out_of_memory" if self.last.ran_out else "failed"
        if self.last is not None:
            return self._of_need()
        if ending.exit_code is None:
            return "hung"
        if ending.exit_code == -signal.SIGKILL or printed_out_of_memory(ending):
            return "out_of_memory"
        return "failed" if ending.failure else "crashed"

    def _of_need(self) -> Ended:
        start, need = self.started.memory if self.started else None, self.need_bytes()
        if start is None or need is None:
            return "ran"
        if self.started and self.started.is_gpu and need > start.free:
            return "spilled"
        return "ran" if need <= LARGEST_SHARE * start.free else "tight"

    def memories(self) -> list[DeviceMemory]:
        """What was told of the memory after the start, in order."""
        ends = [self.last] if self.last else []
        return [each.memory for each in (*self.reached, *ends) if each.memory]

    def evidence(self, holders: tuple[GpuProcess, ...]) -> Evidence:
        """The memory around it, on a GPU."""
        start = self.started.memory if self.started else None
        memories = self.memories()
        if start is None or not memories:
            return Evidence(start=start, holders=holders)
        grew = max(_outside_bytes(each) for each in memories) - _outside_bytes(start)
        return Evidence(start=start, end=memories[-1], outside_grew_bytes=max(0, grew), holders=holders)

    def growth(self) -> Growth | None:
        """How PyTorch's memory grows from step to step, else, on a GPU, what is taken outside of it."""
        after_steps = [each.memory for each in self.reached if each.phase in ("train", "soak") and each.memory]
        growth = memory_growth([memory.allocated for memory in after_steps], self.room())
        if growth is not None or self.started is None or not self.started.is_gpu:
            return growth
        outside = memory_growth([_outside_bytes(memory) for memory in after_steps], self.room())
        return msgspec.structs.replace(outside, outside_pytorch=True) if outside else None

    def step_seconds(self) -> float | None:
        """Median of the steps after memory has settled."""
        settled = [each.seconds for each in self.reached if each.phase in ("train", "soak")][SETTLED_STEPS:]
        return median(settled) if settled else None

    def kept_by_validation_bytes(self) -> int:
        """What each validation leaves behind."""
        kept = [
            after.memory.allocated - before.memory.allocated
            for before, after in pairwise(self.reached)
            if after.phase == "validation" and before.memory and after.memory
        ]
        has_failed_again = self.phase == "validation" and len(kept) == 1 and isinstance(self.last, Failed)
        return kept_by_validation(kept, has_failed_again=has_failed_again)

    def room(self) -> int | None:
        """What could be in use at most: what was free at the start, and what was held already."""
        start = self.started.memory if self.started else None
        return start.free + start.allocated if start else None

    def need_bytes(self) -> int | None:
        """The most it took: by PyTorch's allocator, or, on a GPU, as the driver saw the free memory fall."""
        if self.started is None or self.started.memory is None or not self.memories():
            return None
        start = self.started.memory
        taken = max(memory.peak_reserved for memory in self.memories()) - start.reserved
        if not self.started.is_gpu:
            return taken
        return max(taken, start.free - min(memory.free for memory in self.memories()))

    def peaks(self) -> tuple[PhasePeak, ...]:
        """The most that was in use in each phase."""
        by_phase: dict[Phase, list[DeviceMemory]] = {}
        for each in self.reached:
            if each.memory:
                by_phase.setdefault(each.phase, []).append(each.memory)
        return tuple(
            PhasePeak(
                phase=phase,
                peak_allocated_bytes=max(memory.peak_allocated for memory in memories),
                peak_reserved_bytes=max(memory.peak_reserved for memory in memories),
            )
            for phase, memories in by_phase.items()
        )


def _outside_bytes(now: DeviceMemory) -> int:
    """In use on a GPU, and not by PyTorch's allocator here."""
    return now.total - now.free - now.reserved


def printed_out_of_memory(ending: Ending) -> str:
    """The line in which a process that ended by itself said last that memory ran out; "" where it did not.

    JAX, C++ and scripts that catch the error themselves leave no exception behind, only what they print. A segmentation
    fault is none of these: it comes from somewhere else.
    """
    if ending.exit_code in (None, -signal.SIGSEGV, -signal.SIGBUS):
        return ""
    lines = ending.printed.strip().splitlines()[-LAST_LINES:]
    return next((line.strip() for line in reversed(lines) if out_of_memory(line)), "")


def why_it_ended(course: Course, ending: Ending, silence_seconds: float) -> str:
    """Why it ended, as far as the child or the system says."""
    if isinstance(course.last, Failed):
        return course.last.text
    if isinstance(course.last, Ran):
        return ""
    if printed_out_of_memory(ending):
        return printed_out_of_memory(ending)
    if ending.failure:
        return ending.failure.strip().splitlines()[-1]
    if ending.exit_code is None:
        return say("nothing was heard of it for {time}", time=duration(silence_seconds))
    printed = (ending.printed.strip().splitlines() or [""])[-1]
    if ending.exit_code == -signal.SIGKILL:
        return say("the system ended the process (SIGKILL), as it does when RAM runs out")
    how = signal.Signals(-ending.exit_code).name if ending.exit_code < 0 else str(ending.exit_code)
    return say("the process ended with {how}; it printed last: {printed}", how=how, printed=printed or say("nothing"))
