"""A GPU waits for its work.

What: over a watch the GPU was idle or little used again and again, while a program held its memory and used it.
Why: something before the GPU is slower than it: reading and decoding the data, Python, small kernels, other GPUs.
How to tell: a watch (dmon, or a CSV over time) of some length in which work and waiting alternate. A GPU that only
waits has no work, and is no case of this. Where the processes are not shown, much memory in use stands for a program.
"""

from collections.abc import Iterator, Sequence

from rigwise.records.evidence import Status
from rigwise.records.finding import Problem, Severity
from rigwise.records.gpu import Gpu
from rigwise.records.rig import Rig
from rigwise.speech import say
from rigwise.units import percent

FEWEST_SAMPLES = 10
"""Our choice: fewer cannot tell waiting from the beginning or the end of the work."""
WORKING_RATIO = 0.05
"""Our choice: below it a desktop, or nothing, was at work."""
SHARE_AT_WORK_RATIO = 0.2
"""Our choice: less is single requests, not a program that ought to run all the time."""
STARVED_RATIO = 0.5
"""Our choice: on average half of the card stands idle."""
HELD_RATIO = 0.25
"""Our choice: a desktop has less of the card."""
FULL_RATIO = 0.9
"""Our choice: a desktop never needs the whole card; a program that trains does at its best moments."""
TRAINING = ("python", "torchrun", "accelerate", "deepspeed")
"""Programs that are meant to keep a GPU busy; servers wait for requests."""


def check_gpu(gpu: Gpu, rig: Rig) -> Iterator[Problem]:
    """A warning when a training program leaves the GPU waiting, a note for any other program."""
    samples = gpu.samples.need()
    busy = [one.gpu_utilization_ratio for one in samples if one.gpu_utilization_ratio is not None]
    if len(busy) < FEWEST_SAMPLES or not _waits(busy):
        return
    if gpu.processes.status is Status.NOT_RECORDED and max(busy) >= FULL_RATIO and _held(gpu):
        yield Problem(_because(busy, say("a program that is not shown")), (gpu.samples, gpu.memory_used_bytes))
        return
    holders = [one for one in gpu.processes.need() if one.kind == "compute"]
    if not holders:
        return
    name = say("{name} (PID {pid})", name=holders[0].name or say("a program"), pid=holders[0].pid)
    training = any(one.name.lower().startswith(TRAINING) for one in holders)
    severity = Severity.WARNING if training else None
    yield Problem(_because(busy, name), (gpu.samples, gpu.processes), severity=severity)


def _because(busy: Sequence[float], holder: str) -> str:
    return say(
        "On average {mean} of it was used over {count} samples, while {holder} held it.",
        mean=percent(sum(busy) / len(busy)),
        count=len(busy),
        holder=holder,
    )


def _held(gpu: Gpu) -> bool:
    """Whether so much memory is in use that it must be a program at work."""
    return gpu.memory_used_bytes.value_or(0) >= HELD_RATIO * gpu.memory_total_bytes.need()


def _waits(busy: Sequence[float]) -> bool:
    """Whether work and waiting alternate, with more waiting than work."""
    at_work = sum(one > WORKING_RATIO for one in busy) / len(busy)
    return at_work >= SHARE_AT_WORK_RATIO and sum(busy) / len(busy) < STARVED_RATIO
