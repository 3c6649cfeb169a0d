"""Who else holds a GPU's memory, as the driver names it."""

import os
from collections.abc import Callable, Sequence

from rigwise.checks.out_of_vram import OTHERS_BYTES, OTHERS_RATIO
from rigwise.probes.gpu.gpus_from_nvml import read_gpus, read_num_gpus
from rigwise.probes.gpu.processes import name_processes
from rigwise.records.gpu import GpuProcess
from rigwise.sources.live import LiveSource
from rigwise.speech import say
from rigwise.train.step.device import Device, DeviceMemory
from rigwise.units import memory

NUM_NAMED = 4
Holders = Callable[[str], Sequence[GpuProcess]]
"""UUID of a GPU to the processes that hold its memory now."""


def gpu_holders(uuid: str) -> Sequence[GpuProcess]:
    """The processes that hold memory of this GPU now, without this one."""
    source = LiveSource()
    gpus = name_processes(source, read_gpus(source, read_num_gpus(source)))
    holders = next((gpu.processes.value or () for gpu in gpus if gpu.uuid.value == uuid), ())
    return [holder for holder in holders if holder.pid != os.getpid()]


def is_much(num_bytes: int, total_bytes: int) -> bool:
    """Whether so much of a GPU's memory in other hands is worth a word; contexts and screens take less."""
    return num_bytes >= max(OTHERS_BYTES, OTHERS_RATIO * total_bytes)


def held_by_others(now: DeviceMemory, holders: Sequence[GpuProcess]) -> str:
    """Who holds much of the memory beside PyTorch here, in words; "" where nobody does."""
    others = now.total - now.free - now.reserved
    if not is_much(others, now.total):
        return ""
    return say(
        "other programs hold {held} of {total}: {names}",
        held=memory(others),
        total=memory(now.total),
        names=named(holders),
    )


def others_on(device: Device, holders: Holders = gpu_holders) -> str:
    """Who else holds much of this device's memory now, in words; "" where nobody does. Asked before each trial.

    What an earlier trial, or a notebook, still holds is the usual reason why the next one does not fit
    (https://github.com/ray-project/ray/issues/32725).
    """
    now = device.memory()
    if now is None or not device.is_gpu or not is_much(now.total - now.free - now.reserved, now.total):
        return ""
    return held_by_others(now, holders(device.uuid))


def named(holders: Sequence[GpuProcess]) -> str:
    """The largest of them by name and PID."""
    if not holders:
        return say("the driver names none")
    largest = sorted(holders, key=lambda holder: -(holder.used_bytes or 0))[:NUM_NAMED]
    return ", ".join(
        say("{name} (PID {pid})", name=holder.name or say("process of another user"), pid=holder.pid)
        for holder in largest
    )
