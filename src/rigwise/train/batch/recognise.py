"""Whether an exception, or the text it left, means that memory ran out. Type first, then words, then free memory.

Only what is recognised here may make a batch smaller: a wrong layout or a kernel's limit stays wrong in any batch.
"""

from typing import Literal

import msgspec
import torch

from rigwise.knowledge.out_of_memory import memory_text

SHORT_RATIO = 0.05
"""Free share of the memory below which a text that only may mean out of memory does: torch near its limit says `device
not ready` and the like (https://github.com/mberr/torch-max-mem/issues/45)."""
MOST_CAUSES = 8
"""How many exceptions behind an exception are looked at; chains of frameworks have two or three."""


class OutOfMemory(msgspec.Struct, frozen=True, kw_only=True):
    """Memory ran out: whose, how sure that is, and what said so."""

    memory: Literal["device", "host"]
    certainty: Literal["certain", "likely"]
    kind: str
    """Row of knowledge/out_of_memory.toml, or the type of the exception."""
    text: str
    """The first line of what was said."""


def out_of_memory(
    failure: BaseException | str, *, free_bytes: int | None = None, total_bytes: int | None = None
) -> OutOfMemory | None:
    """Whose memory ran out; None where the failure is another one.

    Args:
        failure: the exception, with those that caused it, or a text.
        free_bytes: of the device at the failure, others' use counted; None where it is not known.
        total_bytes: of the device.

    >>> out_of_memory("cuDNN error: CUDNN_STATUS_NOT_SUPPORTED. This error may appear for a non-contiguous input.")
    >>> out_of_memory("CUDA driver error: device not ready", free_bytes=9 * 2**30, total_bytes=10 * 2**30)
    >>> out_of_memory(MemoryError()).memory
    'host'
    """
    if isinstance(failure, str):
        return _of_text(failure, free_bytes, total_bytes)
    for error in _chain(failure):
        found = _of_type(error) or _of_text(f"{type(error).__name__}: {error}", free_bytes, total_bytes)
        if found is not None:
            return found
    return None


def _of_type(error: BaseException) -> OutOfMemory | None:
    """The types of torch, CuPy and Python; Triton's `OutOfResources` is none of them."""
    names = {kind.__name__ for kind in type(error).__mro__}
    if isinstance(error, torch.OutOfMemoryError) or "OutOfMemoryError" in names:
        return OutOfMemory(memory="device", certainty="certain", kind=type(error).__name__, text=_first_line(error))
    if isinstance(error, MemoryError):
        return OutOfMemory(memory="host", certainty="certain", kind=type(error).__name__, text=_first_line(error))
    return None


def _of_text(text: str, free_bytes: int | None, total_bytes: int | None) -> OutOfMemory | None:
    row = memory_text(text)
    if row is None or row.memory == "none":
        return None
    known = free_bytes is not None and total_bytes
    if row.certainty == "likely" and known and (free_bytes or 0) >= SHORT_RATIO * (total_bytes or 0):
        return None
    return OutOfMemory(memory=row.memory, certainty=row.certainty, kind=row.id, text=_first_line(text))


def _chain(error: BaseException) -> list[BaseException]:
    """The exception, then what it was raised from; a handler's own failure does not count."""
    chain: list[BaseException] = []
    following: BaseException | None = error
    while following is not None and len(chain) < MOST_CAUSES:
        chain.append(following)
        following = following.__cause__
    return chain


def _first_line(said: BaseException | str) -> str:
    return next(iter(str(said).splitlines()), "") or type(said).__name__
