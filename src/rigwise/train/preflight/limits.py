"""What the machine allows a loader, and what state this process is in. Looks whether torch is loaded; loads it not."""

import os
import resource
import sys
import threading
from pathlib import Path

import msgspec

from rigwise.sources.source import Source
from rigwise.train.machine import available_ram_bytes, free_disk_bytes, usable_cores

SHARED_MEMORY = Path("/dev/shm")


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What a loader may use; None where it cannot be told."""

    cores: int
    """CPU cores of this process: its affinity, and the CPU quota of its control group."""
    ram_bytes: int | None = None
    """Available, of the machine and under the limit of the control group."""
    shared_memory_bytes: int | None = None
    """Free in /dev/shm."""
    max_open_files: int | None = None
    """The soft limit of this process; None for no limit."""
    num_open_files: int = 0
    other_threads: tuple[str, ...] = ()
    """Names of the Python threads beside the main one."""
    cuda_started: bool = False
    opencv_threads: int = 0
    """Threads OpenCV would use; 0 when it is not loaded."""


def read_limits(source: Source, shared_memory: Path = SHARED_MEMORY) -> Limits:
    """The limits of the machine and the state of this process, now."""
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return Limits(
        cores=usable_cores(source),
        ram_bytes=available_ram_bytes(source),
        shared_memory_bytes=free_disk_bytes(shared_memory) if shared_memory.is_dir() else None,
        max_open_files=None if soft == resource.RLIM_INFINITY else soft,
        num_open_files=len(os.listdir("/proc/self/fd")),
        other_threads=tuple(one.name for one in threading.enumerate() if one is not threading.main_thread()),
        cuda_started=_cuda_started(),
        opencv_threads=_opencv_threads(),
    )


def _cuda_started() -> bool:
    torch = sys.modules.get("torch")
    return bool(torch and torch.cuda.is_initialized())


def _opencv_threads() -> int:
    opencv = sys.modules.get("cv2")
    return int(opencv.getNumThreads()) if opencv and hasattr(opencv, "getNumThreads") else 0
