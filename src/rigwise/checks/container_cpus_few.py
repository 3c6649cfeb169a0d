"""A container with GPUs may use few CPUs.

What: a container that was started with GPUs has a quota of at most two CPUs.
Why: loader, tokenizer and the framework's own threads share them, and the GPU waits; on the host it was faster.
How to tell: NanoCpus or CpuQuota of `docker inspect`. A quota seen from inside a container is judged by cpu_limited.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.rig import Rig
from rigwise.speech import say
from rigwise.units import significant

FEW_CPUS = 2.0
"""One for the training process, one for everything else: less than any loader with workers needs."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A note for each container with GPUs and almost no CPU."""
    containers = rig.container_engine.containers
    for one in containers.need():
        if one.gpus_asked and one.num_cpus_limit is not None and one.num_cpus_limit <= FEW_CPUS:
            limit = significant(one.num_cpus_limit)
            because = say("Container {name} may use {limit} CPUs.", name=one.name, limit=limit)
            yield Problem(because, (containers,))
