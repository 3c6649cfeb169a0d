"""What programs run on: the user's Python, its frameworks, and the stack below them."""

import msgspec


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


class Interpreter(msgspec.Struct, frozen=True, kw_only=True):
    """The user's Python and what it holds."""

    executable: str
    version: str
    cuda_visible_devices: str | None = None
    """The environment variable, None when unset."""
    frameworks: tuple[Framework, ...] = ()


class Stack(msgspec.Struct, frozen=True, kw_only=True):
    """Toolkits, libraries and packages beside the frameworks (T2, T11, T20)."""


class ContainerEngine(msgspec.Struct, frozen=True, kw_only=True):
    """Docker, Podman or containerd, and how they pass GPUs through (T10)."""
