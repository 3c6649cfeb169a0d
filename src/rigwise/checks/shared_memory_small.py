"""Shared memory is too small for the loader's workers.

What: /dev/shm of a container has Docker's default of 64 MiB.
Why: loader workers hand over batches through it; a batch that does not fit ends with "bus error" or "unable to open
shared memory object". NCCL uses it too.
How to tell: the size of the mount inside a container, or ShmSize of `docker inspect` without `--ipc=host`. Only a
note until a program fails by it: training without loader workers does not need it.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem, Severity
from rigwise.records.rig import Rig
from rigwise.speech import say
from rigwise.units import MIB, memory

DOCKER_DEFAULT_BYTES = 64 * MIB
"""https://docs.docker.com/reference/cli/docker/container/run/, --shm-size."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A note for this container, or for each container that was inspected."""
    if rig.container_engine.containers.present:
        yield from _inspected(rig)
        return
    size = rig.container_engine.shm_size_bytes
    if rig.host.container.need() == "none":
        return
    if size.need() <= DOCKER_DEFAULT_BYTES:
        because = say("This container has {size} of shared memory, Docker's default.", size=memory(size.need()))
        yield Problem(because, (size, rig.host.container), severity=Severity.NOTE)


def _inspected(rig: Rig) -> Iterator[Problem]:
    containers = rig.container_engine.containers
    for one in containers.need():
        if one.gpus_asked and one.ipc_mode != "host" and (one.shm_size_bytes or 0) == DOCKER_DEFAULT_BYTES:
            because = say(
                "Container {name} has {size} of shared memory, Docker's default.",
                name=one.name,
                size=memory(DOCKER_DEFAULT_BYTES),
            )
            yield Problem(because, (containers,), severity=Severity.NOTE)
