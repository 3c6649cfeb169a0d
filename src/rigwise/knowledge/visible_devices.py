"""Which GPUs CUDA_VISIBLE_DEVICES leaves visible.

Rule: CUDA C++ Programming Guide, "CUDA Environment Variables": indexes, or prefixes of UUIDs; the first invalid entry
hides itself and everything after it; an empty value hides all.
"""

from collections.abc import Sequence


def visible_gpus(value: str | None, uuids: Sequence[str | None]) -> tuple[int, ...]:
    """Indexes of the visible GPUs, in the variable's order. `uuids` holds one entry per GPU, None where unknown.

    >>> visible_gpus(None, ["GPU-a1", "GPU-b2"]), visible_gpus("1,0", ["GPU-a1", "GPU-b2"])
    ((0, 1), (1, 0))
    >>> visible_gpus("", ["GPU-a1"]), visible_gpus("-1", ["GPU-a1"]), visible_gpus("0,7,1", ["GPU-a1", "GPU-b2"])
    ((), (), (0,))
    >>> visible_gpus("GPU-b", ["GPU-a1", "GPU-b2"])
    (1,)
    """
    if value is None:
        return tuple(range(len(uuids)))
    visible: list[int] = []
    for entry in value.split(","):
        index = _index(entry.strip(), uuids)
        if index is None or index in visible:
            break
        visible.append(index)
    return tuple(visible)


def _index(entry: str, uuids: Sequence[str | None]) -> int | None:
    """The GPU an entry names; None when it names none, or more than one."""
    if entry.isdecimal():
        return int(entry) if int(entry) < len(uuids) else None
    matches = [index for index, uuid in enumerate(uuids) if entry and uuid and uuid.startswith(entry)]
    return matches[0] if len(matches) == 1 else None
