"""The GPUs of this machine differ.

What: GPUs that would train together are of different models or sizes.
Why: data-parallel training gives each the same batch, waits for the slowest, and is limited by the smallest VRAM.
How to tell: names and VRAM. A card with less than a third of the largest VRAM is taken for one that only drives a
display, and is not counted.
"""

from collections import Counter
from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.gpu import Gpu
from rigwise.records.rig import Rig
from rigwise.speech import say
from rigwise.units import memory

DISPLAY_RATIO = 1 / 3
"""Our choice: nobody trains data-parallel over a card with less than a third of the other one's VRAM."""
SAME_SIZE_RATIO = 0.95
"""Equal cards report a few MiB more or less."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A note when the GPUs meant for training are not equal."""
    if rig.has_one_gpu():
        return
    rig.need_gpus()
    sized = [(gpu, size) for gpu in rig.gpus if gpu.name.present and (size := gpu.memory_total_bytes.value)]
    if not sized:
        next((gpu.memory_total_bytes for gpu in rig.gpus), rig.num_gpus).need()
    largest = max((size for _, size in sized), default=0)
    training = [(gpu, size) for gpu, size in sized if size >= DISPLAY_RATIO * largest]
    smallest = min((size for _, size in training), default=0)
    if len(_names(training)) < 2 and smallest >= SAME_SIZE_RATIO * largest:
        return
    because = say(
        "{names}. Training over all of them waits for the slowest and fits its batch to {smallest}.",
        names=", ".join(f"{count} x {name}" for name, count in _names(training).items()),
        smallest=memory(smallest),
    )
    yield Problem(because, tuple(reading for gpu, _ in training for reading in (gpu.name, gpu.memory_total_bytes)))


def _names(training: list[tuple[Gpu, int]]) -> Counter[str]:
    return Counter(gpu.name.value_or("") for gpu, _ in training)
