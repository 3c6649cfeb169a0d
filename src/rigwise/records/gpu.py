"""One GPU at one moment, as typed readings."""

import msgspec

from rigwise.records.reading import Reading, not_asked


class GpuProcess(msgspec.Struct, frozen=True, kw_only=True):
    """One process that holds VRAM, as the driver names it."""

    pid: int
    name: str
    """Process name, or "" where it could not be read (other container, other user)."""
    user: str
    used_bytes: int | None
    """None where the driver does not say (WDDM, MIG, some containers)."""
    kind: str
    """`compute`, or `graphics` for one that (also) draws."""


class MemoryErrors(msgspec.Struct, frozen=True, kw_only=True):
    """ECC counters, remapped rows (Ampere and newer) and retired pages (older) of one GPU.

    Volatile counters begin with the driver's load, aggregate ones with the card's life.
    """

    ecc_enabled: Reading[bool] = not_asked("ECC mode")
    corrected_volatile: Reading[int] = not_asked("corrected ECC errors since boot")
    uncorrected_volatile: Reading[int] = not_asked("uncorrected ECC errors since boot")
    corrected_aggregate: Reading[int] = not_asked("corrected ECC errors of the card's life")
    uncorrected_aggregate: Reading[int] = not_asked("uncorrected ECC errors of the card's life")
    sram_threshold_exceeded: Reading[bool] = not_asked("SRAM error threshold")
    remapped_rows_corrected: Reading[int] = not_asked("rows remapped after corrected errors")
    remapped_rows_uncorrected: Reading[int] = not_asked("rows remapped after uncorrected errors")
    row_remap_pending: Reading[bool] = not_asked("pending row remap")
    row_remap_failure: Reading[bool] = not_asked("failed row remap")
    retired_pages_single_bit: Reading[int] = not_asked("pages retired for single-bit errors")
    retired_pages_double_bit: Reading[int] = not_asked("pages retired for double-bit errors")
    retired_pages_pending: Reading[bool] = not_asked("pending page retirement")


class NvLink(msgspec.Struct, frozen=True, kw_only=True):
    """One NVLink of a GPU."""

    link: int
    active: bool
    gb_per_second: float | None = None
    """Speed of the link in one direction, 10^9 bytes per second, as `nvidia-smi nvlink -s` gives it."""
    replay_errors: int | None = None
    recovery_errors: int | None = None
    crc_errors: int | None = None


class GpuSample(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU at one of many moments; a value is None where that moment does not tell it."""

    gpu_utilization_ratio: float | None = None
    memory_utilization_ratio: float | None = None
    power_draw_watts: float | None = None
    temperature_celsius: float | None = None
    sm_clock_mhz: float | None = None
    clocks_event_reasons: int | None = None
    """Bit mask as NVML gives it."""
    held_by_heat: bool | None = None
    """Whether heat held the clocks back since the moment before (`tviol` of dmon)."""


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU. Identified by UUID; the index is for display."""

    index: int
    reachable: Reading[bool] = not_asked("GPU handle")
    """Whether NVML gave a handle; absent with status `lost` when the GPU is off the bus."""
    name: Reading[str] = not_asked("name")
    uuid: Reading[str] = not_asked("UUID")
    pci_bus_id: Reading[str] = not_asked("PCI address")
    compute_capability: Reading[tuple[int, int]] = not_asked("compute capability")
    memory_total_bytes: Reading[int] = not_asked("VRAM total")
    memory_used_bytes: Reading[int] = not_asked("VRAM used")
    memory_free_bytes: Reading[int] = not_asked("VRAM free")
    gpu_utilization_ratio: Reading[float] = not_asked("GPU utilisation")
    memory_utilization_ratio: Reading[float] = not_asked("memory utilisation")
    temperature_celsius: Reading[int] = not_asked("temperature")
    temperature_slowdown_celsius: Reading[int] = not_asked("slowdown temperature")
    power_draw_watts: Reading[float] = not_asked("power draw")
    power_limit_enforced_watts: Reading[float] = not_asked("enforced power limit")
    power_limit_default_watts: Reading[float] = not_asked("default power limit")
    sm_clock_mhz: Reading[int] = not_asked("SM clock")
    sm_clock_max_mhz: Reading[int] = not_asked("highest SM clock")
    memory_clock_mhz: Reading[int] = not_asked("memory clock")
    clocks_event_reasons: Reading[int] = not_asked("clock event reasons")
    """Bit mask as NVML gives it; `knowledge` names the bits."""
    pcie_link_gen: Reading[int] = not_asked("PCIe generation")
    pcie_link_gen_max: Reading[int] = not_asked("highest PCIe generation")
    pcie_link_width: Reading[int] = not_asked("PCIe width")
    pcie_link_width_max: Reading[int] = not_asked("highest PCIe width")
    performance_state: Reading[int] = not_asked("performance state")
    mig_enabled: Reading[bool] = not_asked("MIG mode")
    num_mig_devices: Reading[int] = not_asked("number of MIG devices")
    processes: Reading[tuple[GpuProcess, ...]] = not_asked("processes")
    driver_model: Reading[str] = not_asked("driver model")
    """`WDDM` or `TCC` on Windows; absent on Linux."""

    samples: Reading[tuple[GpuSample, ...]] = not_asked("samples over time")
    """The busiest continuous series at hand, oldest first; where several moments are at hand, the other values are
    those of the busiest one."""
    memory_errors: MemoryErrors = MemoryErrors()
    recovery_action: Reading[str] = not_asked("GPU recovery action")
    """`None`, `Reset`, `Reboot`, `Drain P2P`, `Drain and Reset`; drivers since about 550 say it."""
    power_limit_min_watts: Reading[float] = not_asked("lowest power limit")
    power_limit_max_watts: Reading[float] = not_asked("highest power limit")
    temperature_memory_celsius: Reading[int] = not_asked("memory temperature")
    temperature_memory_max_celsius: Reading[int] = not_asked("highest operating temperature of the memory")
    fan_ratio: Reading[float] = not_asked("fan speed")
    persistence_mode: Reading[bool] = not_asked("persistence mode")
    display_active: Reading[bool] = not_asked("display")
    compute_mode: Reading[str] = not_asked("compute mode")
    virtualization_mode: Reading[str] = not_asked("virtualization mode")
    """`None`, `Pass-Through`, `VGPU`, `Host VGPU` ...: tells a virtual machine's GPU from a whole one."""
    addressing_mode: Reading[str] = not_asked("addressing mode")
    """`HMM`, `ATS` (Grace, memory shared with the CPU) or `None`."""
    pcie_replays: Reading[int] = not_asked("PCIe replays")
    pcie_link_gen_device_max: Reading[int] = not_asked("highest PCIe generation of the GPU")
    pcie_link_gen_host_max: Reading[int] = not_asked("highest PCIe generation of the slot")
    nvlinks: Reading[tuple[NvLink, ...]] = not_asked("NVLinks")
    fabric_state: Reading[str] = not_asked("fabric state")
    """`Completed`, `In Progress`, `Not Started`, `Not Supported`: whether NVSwitch machines may use CUDA."""
    fabric_health: Reading[str] = not_asked("fabric health")
    """`Healthy`, `Unhealthy` or `Limited Capacity`; of older drivers the bandwidth only: `Full` or `Degraded`."""
    numa_node: Reading[int] = not_asked("NUMA node")
    cpu_affinity: Reading[str] = not_asked("CPU affinity")
    """CPUs next to this GPU, as ranges: `0-15,32-47`."""
    gsp_firmware: Reading[str] = not_asked("GSP firmware")
    vbios: Reading[str] = not_asked("VBIOS version")

    def share_of_samples(self, reason_bit: int) -> float | None:
        """The share of samples (0 to 1) with a clock event reason; None where no watch tells of reasons."""
        told = [one.clocks_event_reasons for one in self.samples.value or () if one.clocks_event_reasons is not None]
        return sum(bool(mask & reason_bit) for mask in told) / len(told) if told else None

    @property
    def label(self) -> str:
        """`GPU 1 (NVIDIA GeForce RTX 4090, 0000:41:00.0)`, as far as it is known."""
        known = [reading.value for reading in (self.name, self.pci_bus_id) if reading.value]
        return f"GPU {self.index} ({', '.join(known)})" if known else f"GPU {self.index}"
