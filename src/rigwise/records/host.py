"""The machine around the GPUs, as typed readings."""

import msgspec

from rigwise.records.reading import Reading


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """The machine around the GPUs."""

    os_name: Reading[str]
    kernel: Reading[str]
    container: Reading[str]
    """`docker`, `podman`, `kubernetes`, `lxc` ...; "none" when the markers were read and say none."""
    wsl: Reading[bool]
    num_cpus: Reading[int]
    ram_total_bytes: Reading[int]
    ram_available_bytes: Reading[int]
    swap_total_bytes: Reading[int]
    swap_used_bytes: Reading[int]
    memory_pressure_ratio: Reading[float]
    """PSI `some avg60` of memory, 0 to 1: share of the last minute some task waited for memory."""
    loaded_modules: Reading[tuple[str, ...]]
    """Names in /proc/modules."""
    secure_boot: Reading[bool]


class Cpu(msgspec.Struct, frozen=True, kw_only=True):
    """How busy each CPU is, and what limits them (T6)."""


class Storage(msgspec.Struct, frozen=True, kw_only=True):
    """File systems and disks, and how busy they are (T7, T8)."""


class Network(msgspec.Struct, frozen=True, kw_only=True):
    """Network interfaces: speed, errors, drops, retransmits (T17)."""
