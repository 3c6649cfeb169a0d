"""Error texts that were recognised in what programs printed."""

import msgspec

from rigwise.records.evidence import Quote
from rigwise.records.finding import Severity


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """One error text that a row of knowledge/signatures recognises."""

    signature: str
    """The row's id."""
    check: str
    """The check whose fault it is evidence for."""
    quote: Quote
    """The line or lines, and where they were read."""
    meaning: str
    """What the text means here, its numbers used."""
    action: str
    next_steps: tuple[str, ...] = ()
    mends: str = ""
    """What, installed afresh in the right build, mends it: `torch`, `jax`, `tensorflow`, ""."""
    target: str = ""
    """The GPU it names, or ""."""
    where: str = "program"
    """`program` output or `kernel` log."""
    severity: Severity | None = None
    """Where the text tells of less than the check's fault can be."""


class AllocationFailure(msgspec.Struct, frozen=True, kw_only=True):
    """One request for VRAM that failed, with the numbers its error text gives; None for what it does not say."""

    program: str
    """Who prints it that way: `PyTorch`, `llama.cpp`."""
    quote: Quote
    requested_bytes: int | None = None
    total_bytes: int | None = None
    """Of the GPU."""
    free_bytes: int | None = None
    allocated_bytes: int | None = None
    """In use by tensors of this process."""
    cached_bytes: int | None = None
    """Reserved by this process's allocator, in use by no tensor."""
    process_bytes: int | None = None
    """All that this process holds on the GPU, CUDA's own share included."""
    limit_bytes: int | None = None
    """What the process allowed itself."""
    num_steps_before: int | None = None
    """How many steps a progress line counted before it failed."""
    recovered: bool = False
    """The program says that it goes on with less."""
