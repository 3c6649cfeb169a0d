"""How the GPUs of one machine are connected with each other and with the CPUs (T16, T19)."""

import msgspec


class Topology(msgspec.Struct, frozen=True, kw_only=True):
    """The matrix of `nvidia-smi topo -m`, peer-to-peer state, bridges above the GPUs, NUMA nodes."""
