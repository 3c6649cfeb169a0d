"""A loader's plan against the limits of the machine: every reason why it would die, hang or crawl, with its numbers."""

from collections.abc import Iterator
from itertools import chain

import msgspec

from rigwise.sources.live import LiveSource
from rigwise.speech import say
from rigwise.train.preflight.limits import Limits, read_limits
from rigwise.units import memory

FILES_OF_A_WORKER = 6
"""Pipes, queues and the sentinel of one worker process: 5 to 6 more in /proc/self/fd with PyTorch 2.14."""


class LoaderPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How a loader will run. The defaults are those of `torch.utils.data.DataLoader`."""

    num_workers: int = 0
    """Worker processes; batches pass from them through /dev/shm."""
    num_threads: int = 0
    """Threads of this process that decode."""
    batch_bytes: int = 0
    batches_ahead: int = 2
    """Batches each worker has ready (`prefetch_factor`)."""
    tensors_per_batch: int = 2
    worker_bytes: int = 0
    """RAM of each worker of its own: what it loads, and the lists and dicts of the data set, which are copied into
    every worker as their reference counts are touched (PyTorch issue 13246)."""
    cache_bytes: int = 0
    """Page cache the data should stay in."""
    start_method: str = "fork"
    """Of the worker processes: `fork`, `spawn` or `forkserver`."""

    @property
    def batches_in_flight(self) -> int:
        """Batches in shared memory at once: those ready, and the one in use."""
        return self.num_workers * self.batches_ahead + 1 if self.num_workers else 0


class Concern(msgspec.Struct, frozen=True, kw_only=True):
    """One reason why a loader will not do well."""

    name: str
    stops: bool
    """Whether the run dies or hangs of it, rather than being slow or at risk."""
    because: str
    next_step: str


def preflight(plan: LoaderPlan, limits: Limits | None = None) -> tuple[Concern, ...]:
    """What speaks against the plan, what stops it first; empty when nothing does.

    Args:
        plan: how the loader will run.
        limits: None reads those of this machine and process.
    """
    found = limits or read_limits(LiveSource())
    concerns = chain.from_iterable(look(plan, found) for look in (_shared_memory, _open_files, _ram, _cores, _fork))
    return tuple(sorted(concerns, key=lambda concern: not concern.stops))


def _shared_memory(plan: LoaderPlan, limits: Limits) -> Iterator[Concern]:
    needed, free = plan.batches_in_flight * plan.batch_bytes, limits.shared_memory_bytes
    if plan.num_workers and free is not None and needed > free:
        yield Concern(
            name="shared_memory_small",
            stops=True,
            because=say(
                "{workers} workers with {ahead} batches of {batch} each need {needed} in /dev/shm, which has {free} "
                "free; a worker dies of it with a bus error",
                workers=plan.num_workers,
                ahead=plan.batches_ahead,
                batch=memory(plan.batch_bytes),
                needed=memory(needed),
                free=memory(free),
            ),
            next_step=say(
                "hand over uint8 instead of float32, use threads or fewer workers, or start the container with "
                "--ipc=host or --shm-size={size}m",
                size=-(-2 * needed // 2**20),
            ),
        )


def _open_files(plan: LoaderPlan, limits: Limits) -> Iterator[Concern]:
    """PyTorch's default sharing strategy on Linux, file_descriptor, keeps a file open for every tensor on its way."""
    needed = (
        limits.num_open_files + plan.batches_in_flight * plan.tensors_per_batch + FILES_OF_A_WORKER * plan.num_workers
    )
    if plan.num_workers and limits.max_open_files is not None and needed > limits.max_open_files:
        yield Concern(
            name="open_files_few",
            stops=True,
            because=say(
                "{workers} workers need about {needed} open files, and this process may have {limit}",
                workers=plan.num_workers,
                needed=needed,
                limit=limits.max_open_files,
            ),
            next_step=say(
                'ulimit -n {files}, or torch.multiprocessing.set_sharing_strategy("file_system")', files=2 * needed
            ),
        )


def _ram(plan: LoaderPlan, limits: Limits) -> Iterator[Concern]:
    workers, batches = plan.num_workers * plan.worker_bytes, plan.batches_in_flight * plan.batch_bytes
    needed, free = workers + batches + plan.cache_bytes, limits.ram_bytes
    if free is not None and needed > free:
        yield Concern(
            name="ram_small",
            stops=workers + batches > free,
            because=say(
                "workers take {workers}, batches on their way {batches} and the cache {cache} of RAM, {needed} in all; "
                "{free} are available",
                workers=memory(workers),
                batches=memory(batches),
                cache=memory(plan.cache_bytes),
                needed=memory(needed),
                free=memory(free),
            ),
            next_step=say("use fewer workers, smaller batches, or no cache"),
        )


def _cores(plan: LoaderPlan, limits: Limits) -> Iterator[Concern]:
    busy = plan.num_workers + plan.num_threads
    if busy > limits.cores:
        yield Concern(
            name="cores_few",
            stops=False,
            because=say(
                "{busy} workers and threads share {cores} CPU core(s): that is what affinity and CPU quota allow",
                busy=busy,
                cores=limits.cores,
            ),
            next_step=say("use {cores}", cores=limits.cores),
        )


def _fork(plan: LoaderPlan, limits: Limits) -> Iterator[Concern]:
    """What does not survive a fork; `spawn` and `forkserver` start clean."""
    if not plan.num_workers or plan.start_method != "fork":
        return
    spawn = say('start the workers with multiprocessing_context="forkserver" or "spawn"')
    if limits.cuda_started:
        yield Concern(
            name="fork_after_cuda",
            stops=True,
            because=say("CUDA is in use in this process, and a forked worker that touches it fails"),
            next_step=spawn,
        )
    if limits.opencv_threads > 1:
        yield Concern(
            name="fork_with_opencv",
            stops=True,
            because=say(
                "OpenCV is loaded with {threads} threads; a forked worker waits forever for threads it does not have",
                threads=limits.opencv_threads,
            ),
            next_step=say("call cv2.setNumThreads(0) before the loader starts, or: {spawn}", spawn=spawn),
        )
    if limits.other_threads:
        yield Concern(
            name="fork_with_threads",
            stops=False,
            because=say(
                "other threads run in this process ({names}); a lock one of them holds stays locked in a forked worker",
                names=", ".join(limits.other_threads),
            ),
            next_step=spawn,
        )
