"""A repair of a GPU's memory waits for a reset.

What: a failed row is to be replaced by a spare one, or a page to be retired, at the next reset.
Why: until then the failing memory stays in use.
How to tell: the pending flag of the row remapper (Ampere and newer) or of page retirement (older cards).
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.gpu import Gpu
from rigwise.records.rig import Rig
from rigwise.speech import say


def check_gpu(gpu: Gpu, rig: Rig) -> Iterator[Problem]:
    """A problem when a repair is pending."""
    errors = gpu.memory_errors
    rows, pages = errors.row_remap_pending, errors.retired_pages_pending
    if not rows.present and not pages.present:
        rows.need()
    waiting = rows.need() if rows.present else pages.need()
    if waiting or pages.value:
        because = say("A failed part of its memory is to be taken out of use at the next reset.")
        steps = (f"sudo nvidia-smi --gpu-reset -i {gpu.index}", "sudo reboot   # where the reset is refused")
        yield Problem(because, (rows if rows.value else pages,), next_steps=steps)
