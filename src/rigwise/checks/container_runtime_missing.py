"""The container engine cannot give GPUs to containers.

What: Docker runs, and neither an NVIDIA runtime, nor the NVIDIA Container Toolkit, nor a CDI specification is there.
Why: `docker run --gpus all` then ends with "could not select device driver", and a container starts without GPU.
How to tell: the runtimes that `docker info` or daemon.json name, `nvidia-ctk --version`, the CDI folders. With the
toolkit installed `--gpus` works without a runtime of its own. Only a note until a container asks for a GPU: who uses
no containers misses nothing.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem, Severity
from rigwise.records.rig import Rig
from rigwise.speech import say

NVIDIA_RUNTIMES = ("nvidia",)
"""Beginnings of their names: `nvidia`, `nvidia-cdi`, `nvidia-legacy`."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A problem when no way leads from the engine to the GPU."""
    engine = rig.container_engine
    runtimes = engine.runtimes.need()
    if rig.host.container.value_or("none") != "none" or rig.num_gpus.value == 0:
        return
    if any(name.startswith(NVIDIA_RUNTIMES) for name in runtimes) or engine.cdi_devices.value:
        return
    if engine.toolkit_version.present:
        return
    wanted = any(container.gpus_asked for container in engine.containers.value_or(()))
    because = say("Docker knows the runtimes {names}, and nothing of NVIDIA's.", names=", ".join(runtimes))
    evidence = (engine.runtimes, engine.toolkit_version, engine.cdi_devices)
    readings = tuple(reading for reading in evidence if reading.quote.text)
    yield Problem(because, readings, severity=None if wanted else Severity.NOTE)
