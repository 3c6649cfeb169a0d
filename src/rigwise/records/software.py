"""What programs run on: the user's Python, its frameworks, and the stack below them."""

import msgspec

from rigwise.records.reading import Reading, not_asked
from rigwise.speech import say

UNKNOWN_VERSION = "?"


class Framework(msgspec.Struct, frozen=True, kw_only=True):
    """One AI framework as the user's interpreter sees it."""

    name: str
    """`torch`, `tensorflow`, `jax`."""
    version: str
    cuda_build: str | None = None
    """CUDA version it was built for (`13.0`), None for a CPU-only build or when unknown."""
    cpu_only: bool | None = None
    """Whether the build has no CUDA at all; None when not determined."""
    arch_list: tuple[str, ...] = ()
    """Architectures compiled in (`sm_90`)."""
    cuda_available: bool | None = None
    device_count: int | None = None
    device_capabilities: tuple[tuple[int, int], ...] = ()
    kernel_ok: bool | None = None
    """Whether one real kernel ran on each visible GPU."""
    error: str = ""
    """First line of what it raised, in its own words."""
    cudnn: str = ""
    """Version of cuDNN that it loaded (`9.19.0`), "" when it did not say."""
    nccl: str = ""
    asked_for_cuda: bool = False
    """Whether a person asked it for CUDA, so that a CPU is not what they want."""

    @property
    def release(self) -> str:
        """Its version, to be named in a sentence."""
        return say("of unknown version") if self.version == UNKNOWN_VERSION else self.version


class Package(msgspec.Struct, frozen=True, array_like=True):
    """One installed package, of Python or of the system."""

    name: str
    """As package managers compare names: lower case, `-` for `_` and `.`."""
    version: str
    build: str = ""
    """Conda's build string (`py3.11_cuda12.4_cudnn9.1.0_0`), dpkg's state (`rc`), "" where there is none."""


class Interpreter(msgspec.Struct, frozen=True, kw_only=True):
    """The user's Python and what it holds."""

    executable: str
    version: str
    cuda_visible_devices: str | None = None
    """The environment variable, None when unset."""
    frameworks: tuple[Framework, ...] = ()
    packages: tuple[Package, ...] = ()
    """Packages that matter to CUDA; () when nobody looked."""
    environment: dict[str, str] = {}
    """Variables that matter to CUDA (`LD_LIBRARY_PATH`), as far as they are set."""
    os_name: str = ""
    """Operating system, where the report about the interpreter names it."""


class Stack(msgspec.Struct, frozen=True, kw_only=True):
    """Toolkits, libraries and packages beside the frameworks (T2, T11, T20)."""

    nvcc_version: Reading[str] = not_asked("nvcc version")
    """CUDA version of the first nvcc on the path: `12.4`."""
    toolkits: Reading[tuple[str, ...]] = not_asked("CUDA toolkits")
    """Versions of the toolkits under /usr/local: `12.4`."""
    open_module: Reading[bool] = not_asked("kind of the NVIDIA kernel module")
    """Whether the loaded (or else the installed) module is the open one."""
    module_on_disk: Reading[str] = not_asked("version of the NVIDIA kernel module on disk")
    """The version that the next restart loads."""
    restart_packages: Reading[tuple[str, ...]] = not_asked("packages that wait for a restart")
    """As Debian and Ubuntu keep them; nothing where no update asks for a restart."""
    module_builds: Reading[tuple[str, ...]] = not_asked("DKMS modules")
    """Lines of `dkms status` about the NVIDIA module."""
    driver_packages: Reading[tuple[Package, ...]] = not_asked("driver packages")
    """Of the system's package manager, those of the NVIDIA driver that are installed."""
    device_files: Reading[tuple[str, ...]] = not_asked("NVIDIA device files")
    """Names in /dev: `nvidia0`, `nvidia-uvm`."""


class Container(msgspec.Struct, frozen=True, kw_only=True):
    """One container as `docker inspect` describes it."""

    name: str
    image: str = ""
    runtime: str = ""
    gpus_asked: bool = False
    """Whether it was started with `--gpus`, with the NVIDIA runtime, or with NVIDIA's device files."""
    shm_size_bytes: int | None = None
    ipc_mode: str = ""
    """`private`, `host`, `shareable` ..."""
    num_cpus_limit: float | None = None
    """CPUs that its quota allows, None without a quota."""


class ContainerMemory(msgspec.Struct, frozen=True, kw_only=True):
    """How much RAM one container uses, as `docker stats` shows it."""

    name: str
    used_bytes: int
    """Without page cache that is easily given up."""
    limit_bytes: int
    """All RAM of the machine where the container has no limit."""


class ContainerEngine(msgspec.Struct, frozen=True, kw_only=True):
    """Docker, Podman or containerd, and how they pass GPUs through (T10)."""

    version: Reading[str] = not_asked("container engine")
    """`29.4.0`"""
    runtimes: Reading[tuple[str, ...]] = not_asked("container runtimes")
    """`runc`, `nvidia`."""
    default_runtime: Reading[str] = not_asked("default container runtime")
    storage_driver: Reading[str] = not_asked("container storage driver")
    """`overlay2`, `vfs` ..."""
    root_folder: Reading[str] = not_asked("container root folder")
    """`/var/lib/docker`; under /var/snap for the snap package."""
    cdi_devices: Reading[tuple[str, ...]] = not_asked("CDI specifications of NVIDIA")
    """Devices or specification files of the container device interface that are NVIDIA's."""
    toolkit_version: Reading[str] = not_asked("NVIDIA Container Toolkit")
    """`1.17.8`"""
    no_cgroups: Reading[bool] = not_asked("no-cgroups of the NVIDIA Container Toolkit")
    """Whether its configuration leaves device permissions to somebody else, as rootless engines need."""
    containers: Reading[tuple[Container, ...]] = not_asked("containers")
    memory_uses: Reading[tuple[ContainerMemory, ...]] = not_asked("RAM of the containers")
    """As somebody handed it over."""
    shm_size_bytes: Reading[int] = not_asked("size of /dev/shm")
    """Of this container or machine, where /proc/mounts gives a size."""
