"""The search for a batch size, as records: every probe, why it ended, and the size that held."""

from collections.abc import Sequence
from typing import Literal

import msgspec

Ended = Literal["ran", "tight", "out_of_memory", "spilled", "crashed", "hung", "failed"]
"""`tight`: ran, with less left than the headroom; `spilled`: ran out of the card's memory into the machine's."""
Phase = Literal["start", "build", "train", "validation", "checkpoint", "soak"]
CauseName = Literal[
    "", "too_big", "leak", "late_peak", "fragmentation", "other_process", "spill", "crash", "hang", "fault"
]
"""`late_peak`: one sample or one moment (a checkpoint, a validation) needs far more than the steps before it."""


class PhasePeak(msgspec.Struct, frozen=True, kw_only=True):
    """The most memory in use during a phase, in bytes; on the CPU, up to its end."""

    phase: Phase
    peak_allocated_bytes: int
    peak_reserved_bytes: int


class Growth(msgspec.Struct, frozen=True, kw_only=True):
    """Memory that grows from step to step."""

    bytes_per_step: float
    step_of_death: int | None
    """The step at which nothing is left at this rate; None where the size of the memory is not known."""
    outside_pytorch: bool = False
    """Whether it grows outside of what PyTorch allocates: in a decoder, a library, another program."""


class BatchProbe(msgspec.Struct, frozen=True, kw_only=True):
    """One batch size tried in a child process."""

    batch_size: int
    ended: Ended
    phase: Phase
    """The last one that was reached."""
    steps: int
    """Optimiser steps that ran to the end."""
    seconds: float
    free_at_start_bytes: int | None = None
    """Of the device, before the model was built; others' use counted."""
    total_bytes: int | None = None
    peaks: tuple[PhasePeak, ...] = ()
    need_bytes: int | None = None
    """The most it took of what was free at the start."""
    step_seconds: float | None = None
    """Median of its settled steps; None where too few ran."""
    growth: Growth | None = None
    kept_by_validation_bytes: int = 0
    """What each validation leaves behind; 0 where nothing stays."""
    cause: CauseName = ""
    text: str = ""
    """Why it ended so, in words."""
    others: str = ""
    """Who else held much of the memory from the start, in words; known of probes that did not hold."""
    compiled: bool = False
    """Whether the model was compiled, as the run will have it."""

    @property
    def held(self) -> bool:
        """Whether it ran to the end with the headroom left."""
        return self.ended == "ran"


class Breakdown(msgspec.Struct, frozen=True, kw_only=True):
    """Where the bytes of one training step go, traced without taking them: a lower bound.

    It does not see the CUDA context, cuDNN's work space and the allocator's rounding.
    """

    batch_size: int
    parameters_bytes: int
    """With buffers."""
    gradients_bytes: int
    optimizer_bytes: int
    activations_bytes: int
    """What the peak holds besides: activations, inputs and temporary tensors."""

    @property
    def peak_bytes(self) -> int:
        """The sum."""
        return self.parameters_bytes + self.gradients_bytes + self.optimizer_bytes + self.activations_bytes


class BatchSearch(msgspec.Struct, frozen=True, kw_only=True):
    """The size that held, with everything that was tried on the way."""

    batch_size: int
    """Ran to the end of the soak, validation and checkpoint included, with the headroom left."""
    probes: tuple[BatchProbe, ...]
    """In the order in which they ran."""
    predicted: Breakdown | None = None
    """Of the chosen size; None where it could not be traced."""
    notes: tuple[str, ...] = ()
    """What to know before relying on it."""

    @property
    def proof(self) -> BatchProbe:
        """The probe in which the chosen size held to the end of the soak."""
        return proof_of(self.batch_size, self.probes)


def proof_of(batch_size: int, probes: Sequence[BatchProbe]) -> BatchProbe:
    """The longest probe in which this size held; as the run will have it, where it was compiled for that."""
    held = [probe for probe in probes if probe.held and probe.batch_size == batch_size]
    return max(held, key=lambda probe: (probe.compiled, probe.steps))
