"""Docker, Podman and containerd, and how they pass GPUs through."""

from rigwise.records.software import ContainerEngine
from rigwise.sources.source import Source


def read_container_engine(source: Source) -> ContainerEngine:
    """The container engine of the machine."""
    return ContainerEngine()
