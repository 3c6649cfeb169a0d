"""What active probes measured: disks, transfers to and from the GPU, kernels, a container (T3, T7, T8, T10, T11)."""

import msgspec

from rigwise.records.reading import Reading, not_asked
from rigwise.records.software import Interpreter
from rigwise.records.transfers import Transfers


class DiskSpeed(msgspec.Struct, frozen=True, kw_only=True):
    """How fast one disk reads; None where it was not measured."""

    tool: str = ""
    """`fio`, or `rigwise` for our own loop."""
    direct: bool | None = None
    """Whether the page cache was avoided; where not, the speeds may be those of RAM."""
    requests_at_once: int | None = None
    """How many requests were under way together; our own probe and most loaders: 1."""
    folder_type: str = ""
    """Type of the file system."""
    device: str = ""
    """What was read: `/dev/nvme0n1p2`, `nvme0n1`, `server:/export`; "" where nobody says."""
    sequential_read_bytes_per_second: float | None = None
    random_reads_per_second: float | None = None
    """Of 4 KiB each."""
    random_read_p99_seconds: float | None = None
    opens_per_second: float | None = None
    """Small files opened and read."""
    refused: str = ""
    """Why nothing was measured: `over 90 % full`, `in memory`, `read-only`, `too little room`."""
    error: str = ""
    """What went wrong on the way."""


class ContainerTrial(msgspec.Struct, frozen=True, kw_only=True):
    """One container, started with the GPUs."""

    engine: str
    """`docker`, `podman`; "" where neither answers."""
    image: str = ""
    """The image that was there already; "" where none was that can run nvidia-smi."""
    num_gpus: int = 0
    """GPUs that nvidia-smi listed inside."""
    exit_status: int | None = None
    """None where nothing was started."""
    error: str = ""
    """The last line that the engine or nvidia-smi printed, where it failed."""


class DeepLook(msgspec.Struct, frozen=True, kw_only=True):
    """The answers of `rigwise check --deep`."""

    disk_speed: Reading[DiskSpeed] = not_asked("disk speed")
    transfers: Reading[Transfers] = not_asked("copies and load on the GPUs")
    container_trial: Reading[ContainerTrial] = not_asked("container trial")
    interpreter: Reading[Interpreter] = not_asked("framework kernels")
    """The user's Python again, with a kernel of every framework."""
