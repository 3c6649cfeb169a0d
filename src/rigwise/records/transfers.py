"""What the CUDA probe measured on each GPU: copies, one kernel, and a look while it was at work."""

import msgspec

from rigwise.records.evidence import Quote, Status
from rigwise.records.gpu import Gpu
from rigwise.records.reading import Reading


class LookUnderLoad(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU while it multiplied matrices for some seconds; one entry of each list per sample. None: not told."""

    seconds: float
    utilization_percent: tuple[float | None, ...] = ()
    power_draw_watts: tuple[float | None, ...] = ()
    power_limit_watts: float | None = None
    temperature_celsius: tuple[float | None, ...] = ()
    sm_clock_mhz: tuple[float | None, ...] = ()
    sm_clock_max_mhz: float | None = None
    clocks_event_reasons: tuple[int, ...] = ()
    """NVML's bit mask of each sample."""
    pcie_gen: int | None = None
    """The highest that was seen."""
    pcie_gen_max: int | None = None
    pcie_width: int | None = None
    pcie_width_max: int | None = None
    pcie_replays: int | None = None
    """Packets that were sent again while it looked."""

    def share(self, bit: int) -> float:
        """Share of the samples in which a clock event reason was set, 0 to 1."""
        return sum(bool(mask & bit) for mask in self.clocks_event_reasons) / max(1, len(self.clocks_event_reasons))


class GpuTrial(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU. Speeds are 10^9 bytes per second, one direction; None: not measured."""

    gpu: int
    """Index, in the order of the driver."""
    uuid: str = ""
    name: str = ""
    skipped: str = ""
    """Why it was left alone, in words; "" when it was not."""
    kernel_ok: bool | None = None
    """Whether a product of two matrices came out right."""
    error: str = ""
    """First line of what it raised."""
    pinned_to_gpu: float | None = None
    pinned_from_gpu: float | None = None
    pageable_to_gpu: float | None = None
    pageable_from_gpu: float | None = None
    tflops: float | None = None
    """Of half-precision matrix products, 10^12 operations per second."""
    load: LookUnderLoad | None = None


class PeerCopy(msgspec.Struct, frozen=True, kw_only=True):
    """Copies from one GPU to another."""

    source: int
    target: int
    direct: bool
    """Whether the GPUs may access each other's memory."""
    intact: bool
    """Whether what arrived is what was sent."""
    gb_per_second: float


class Transfers(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of the CUDA probe."""

    framework: str = ""
    """`torch 2.14.1+cu130`"""
    error: str = ""
    """Why nothing, or not everything, was measured."""
    gpus: tuple[GpuTrial, ...] = ()
    peers: tuple[PeerCopy, ...] = ()


def trial_of(gpu: Gpu, transfers: Reading[Transfers]) -> Reading[GpuTrial]:
    """What was measured on one GPU, quoted alone; absent where it was left alone, or nothing was measured at all."""
    name = "copies and load on the GPU"
    if transfers.value is None:
        return Reading(name, None, transfers.status, transfers.quote, transfers.return_code)
    trial = next((one for one in transfers.value.gpus if _is_of(one, gpu)), None)
    if trial is None:
        return Reading(name, None, Status.NOT_FOUND, transfers.quote)
    quote = Quote(transfers.quote.source, "\n".join(_facts(trial)))
    return Reading(name, None if trial.skipped else trial, Status.NOT_SUPPORTED if trial.skipped else Status.OK, quote)


def _is_of(trial: GpuTrial, gpu: Gpu) -> bool:
    return trial.uuid == gpu.uuid.value if trial.uuid and gpu.uuid.value else trial.gpu == gpu.index


def _facts(trial: GpuTrial) -> list[str]:
    """What is known of a trial, as the probe printed it, its samples as their range."""
    facts = [f"{field}: {value}" for field in trial.__struct_fields__ if _is_plain(value := getattr(trial, field))]
    if trial.load is not None:
        facts += [f"{field}: {_range(getattr(trial.load, field))}" for field in trial.load.__struct_fields__]
    return facts


def _is_plain(value: object) -> bool:
    return value not in (None, "") and not isinstance(value, LookUnderLoad)


def _range(value: object) -> str:
    if not isinstance(value, tuple):
        return str(value)
    known = sorted(one for one in value if one is not None)
    return f"{known[0]} to {known[-1]} in {len(value)} samples" if known else "not told"
