"""The machine around the GPUs, as typed readings."""

from collections.abc import Mapping

import msgspec

from rigwise.records.deep import DiskSpeed
from rigwise.records.reading import Reading, not_asked


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


class CpuShare(msgspec.Struct, frozen=True, kw_only=True):
    """How one CPU, or all of them together, spent a span of time; each share from 0 to 1."""

    name: str
    """`0`, `1` ..., or `all`."""
    busy_ratio: float
    """Work of programs and kernel: everything but idle, iowait and steal."""
    iowait_ratio: float = 0.0
    """Idle while some task waited for a disk."""
    steal_ratio: float = 0.0
    """Wanted to run, but the hypervisor ran somebody else."""


class ProcessLoad(msgspec.Struct, frozen=True, kw_only=True):
    """How much one process computes."""

    pid: int
    name: str
    cpus: float
    """CPUs' worth of time: 1.0 is one CPU all the time."""


class Cpu(msgspec.Struct, frozen=True, kw_only=True):
    """How busy each CPU is, and what limits them (T6)."""

    total: Reading[CpuShare] = not_asked("CPU time")
    """Of all CPUs together, over a window."""
    each: Reading[tuple[CpuShare, ...]] = not_asked("CPU time per CPU")
    """Of each CPU, over a window."""
    window_seconds: float | None = None
    """Length of that window; None where the evidence does not say."""
    since_boot: Reading[CpuShare] = not_asked("CPU time since boot")
    load: Reading[tuple[float, float, float]] = not_asked("load average")
    """Tasks that ran or waited, on average of the last 1, 5 and 15 minutes."""
    num_cpus: Reading[int] = not_asked("CPUs")
    """As the counters of the CPUs show them: those of the host, also inside a container."""
    runnable: Reading[float] = not_asked("run queue")
    """Tasks that ran or waited for a CPU, on average of a window (`r` of vmstat)."""
    processes: Reading[tuple[ProcessLoad, ...]] = not_asked("processes by CPU")
    """The busiest first."""
    pressure_ratio: Reading[float] = not_asked("CPU pressure")
    """PSI `some avg60`: share of the last minute some task waited for a CPU."""
    io_pressure_ratio: Reading[float] = not_asked("I/O pressure")
    """PSI `full avg60`: share of the last minute all active tasks waited for a disk at once."""
    quota_cpus: Reading[float] = not_asked("CPU limit of the control group")
    """The smallest one above this process, in CPUs; infinite where there is no limit."""
    throttled_ratio: Reading[float] = not_asked("throttled periods of the control group")
    """Share of its scheduling periods in which the limit stopped it, since it was created."""
    governor: Reading[str] = not_asked("CPU frequency governor")
    frequency_driver: Reading[str] = not_asked("CPU frequency driver")
    allowed: Reading[frozenset[int]] = not_asked("allowed CPUs")
    """The CPUs this process may run on."""
    process_cpus: Mapping[int, Reading[frozenset[int]]] = {}
    """The CPUs that each process which computes on a GPU may run on, by PID."""
    next_to_gpu: Mapping[int, Reading[frozenset[int]]] = {}
    """The CPUs on the NUMA node of each GPU, by index."""


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """What limits RAM, and what happened when it ran out (T9)."""

    swap_in_bytes_per_second: Reading[float] = not_asked("swap-in rate")
    swap_out_bytes_per_second: Reading[float] = not_asked("swap-out rate")
    """Both over a window."""
    limit_bytes: Reading[float] = not_asked("memory limit of the control group")
    """The smallest one above this process; infinite where there is no limit."""
    limited_used_bytes: Reading[int] = not_asked("memory used under the limit")
    """Without the page cache that could be given up."""
    oom_kills: Reading[int] = not_asked("out-of-memory kills since boot")
    corrupted_bytes: Reading[int] = not_asked("RAM taken out of use")
    """`HardwareCorrupted`: pages the kernel no longer uses because of memory errors."""
    huge_pages_idle_bytes: Reading[int] = not_asked("idle huge pages")
    """RAM reserved as huge pages that no program uses."""
    shared_memory_bytes: Reading[int] = not_asked("size of /dev/shm")


class FileSystem(msgspec.Struct, frozen=True, kw_only=True):
    """One mounted file system."""

    mount_point: str
    device: str
    """`/dev/nvme0n1p2`, `server:/export`, `overlay`."""
    type: str = ""
    """`ext4`, `nfs4`, `overlay`, `9p`, `tmpfs`; "" where the evidence does not say."""
    size_bytes: int | None = None
    used_ratio: float | None = None
    """As `df` counts it: without what is reserved for root, in whole percents rounded up."""
    room_bytes: int | None = None
    inodes_used_ratio: float | None = None


class Disk(msgspec.Struct, frozen=True, kw_only=True):
    """One disk, and how busy it is."""

    name: str
    """`nvme0n1`, `sda`."""
    model: str = ""
    rotational: bool | None = None
    busy_ratio: float | None = None
    """Share of the window in which it worked on at least one request; None without a window."""
    wait_seconds: float | None = None
    """Mean time of a request in the window, queue included."""
    queue_length: float | None = None
    """Mean number of requests in the window; without a window, those in progress at this moment."""
    read_bytes_per_second: float | None = None
    write_bytes_per_second: float | None = None


class Storage(msgspec.Struct, frozen=True, kw_only=True):
    """File systems and disks, and how busy they are (T7, T8)."""

    working_place: Reading[FileSystem] = not_asked("file system of the current folder")
    file_systems: Reading[tuple[FileSystem, ...]] = not_asked("file systems")
    disks: Reading[tuple[Disk, ...]] = not_asked("disks")
    measured: Reading[DiskSpeed] = not_asked("disk speed")
    """By fio, as somebody handed it over."""


class Interface(msgspec.Struct, frozen=True, kw_only=True):
    """One network interface with its counters since boot; None where the evidence does not say."""

    name: str
    up: bool | None = None
    mbit_per_second: int | None = None
    """What the link negotiated, 10^6 bits per second."""
    capable_mbit_per_second: int | None = None
    """The most that both ends offer, or this end where the other does not say."""
    full_duplex: bool | None = None
    mtu: int | None = None
    packets: int | None = None
    """Received and sent."""
    errors: int | None = None
    dropped: int | None = None
    lost_carriers: int | None = None


class RdmaPort(msgspec.Struct, frozen=True, kw_only=True):
    """One port of an InfiniBand or RoCE adapter; its words in lower case."""

    adapter: str
    """`mlx5_0`"""
    port: int
    model: str
    """`MT4129`; "" where the evidence does not say."""
    state: str
    """`active`, `down`, `initializing`, `armed`."""
    physical_state: str
    """`linkup`, `polling`, `disabled`."""
    link_layer: str
    """`infiniband` or `ethernet`."""


class TcpCounters(msgspec.Struct, frozen=True, kw_only=True):
    """Segments since boot."""

    sent: int
    retransmitted: int
    at_most: bool = False
    """Whether more may have been sent, so that the share of retransmitted ones is at most what it seems."""


class PacketCounters(msgspec.Struct, frozen=True, kw_only=True):
    """What the kernel's receive queues saw since boot, all CPUs together."""

    processed: int
    dropped: int


class Network(msgspec.Struct, frozen=True, kw_only=True):
    """Network interfaces: speed, errors, drops, retransmits (T17)."""

    interfaces: Reading[tuple[Interface, ...]] = not_asked("network interfaces")
    tcp: Reading[TcpCounters] = not_asked("TCP segments")
    receive_queues: Reading[PacketCounters] = not_asked("receive queues")
    rdma_ports: Reading[tuple[RdmaPort, ...]] = not_asked("RDMA ports")
