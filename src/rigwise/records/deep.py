"""What active probes measured: disks, transfers to and from the GPU, kernels, a container (T3, T7, T8, T10, T11)."""

import msgspec


class DeepLook(msgspec.Struct, frozen=True, kw_only=True):
    """The answers of `rigwise check --deep`."""
