"""What the vendor says a GPU can do, one row each in gpus.csv, validated once. Must not ask a machine anything.

The numbers are dense rates (never with sparsity) at the card's boost clock: figures to hold a measurement against, not
measurements. A row says what was checked, where, and which cells are in doubt.
"""

import csv
from functools import cache
from importlib import resources
from typing import Literal

import msgspec

from rigwise.units import GIB

Verified = Literal["yes", "partly", "no"]
Basis = Literal["datasheet", "computed", "database"]

# What NVML reports of the nominal size: 0.92 with ECC on GDDR (15,109 MiB on a 16 GiB T4) up to 1.03 (192 GiB on a
# simulated 186 GiB GB200). The nearest sizes that share a name are 10 and 12 GiB (RTX 3080), a ratio of 0.83.
SMALLEST_REPORTED_RATIO = 0.9
LARGEST_REPORTED_RATIO = 1.05


class GpuModel(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU as it is sold. A number is None where the card has no such unit, or nobody publishes the rate."""

    name: str
    """Ours, unique: `GeForce RTX 4060 Ti 16 GB`."""
    nvml_names: tuple[str, ...] = ()
    """As NVML and nvidia-smi print it, letter case included; cards of several sizes may share one."""
    architecture: str
    compute_capability: tuple[int, int]
    memory_gib: float
    """Nominal. Vendors write GB and mean GiB (80 GB is 81,559 MiB in nvidia-smi)."""
    memory_type: str
    memory_bus_bits: int | None = None
    memory_bandwidth_gb_per_second: float
    """GB as the vendor writes it: 10^9 bytes."""
    fp32_tflops: float
    """Outside the tensor cores."""
    tf32_tensor_tflops: float | None = None
    fp16_tensor_fp16_accumulate_tflops: float | None = None
    fp16_tensor_fp32_accumulate_tflops: float | None = None
    """What mixed-precision training uses; half the rate above on GeForce."""
    bf16_tensor_tflops: float | None = None
    fp8_tensor_fp16_accumulate_tflops: float | None = None
    fp8_tensor_fp32_accumulate_tflops: float | None = None
    int8_tensor_tops: float | None = None
    fp4_tensor_tflops: float | None = None
    tdp_watts: float
    """Of the reference card; the maker's own cards may be set higher."""
    pcie_gen: int | None = None
    pcie_lanes: int | None = None
    nvlink_gb_per_second: float
    """All links, both directions; 0 without NVLink."""
    launch_year: int
    basis: Basis
    """`datasheet`; `computed` as multiprocessors x boost clock x rate; or another `database`."""
    verified: Verified
    """`yes`: memory, bandwidth, power and a rate were found in the vendor's words; `partly`: some cells; `no`: none."""
    verified_cells: tuple[str, ...] = ()
    uncertain_cells: tuple[str, ...] = ()
    checked_on: str = ""
    """Date of the check, "" when there was none."""
    source: str
    notes: str = ""

    @property
    def memory_bytes(self) -> int:
        """Nominal VRAM in bytes."""
        return round(self.memory_gib * GIB)

    def fits(self, memory_total_bytes: int) -> bool:
        """Whether NVML may report this total for this card."""
        return SMALLEST_REPORTED_RATIO <= memory_total_bytes / self.memory_bytes <= LARGEST_REPORTED_RATIO


@cache
def gpu_models() -> tuple[GpuModel, ...]:
    """Every GPU of the table, in its order.

    Raises:
        ValueError: the table itself is wrong.
    """
    text = resources.files("rigwise.knowledge").joinpath("gpus.csv").read_text(encoding="utf-8")
    models = tuple(_parse(row) for row in csv.DictReader(text.splitlines()))
    if len({model.name for model in models}) != len(models):
        raise ValueError("gpus.csv names a GPU twice")
    return models


def find_gpu(nvml_name: str, memory_total_bytes: int | None = None) -> GpuModel | None:
    """The GPU that NVML calls `nvml_name`, or None when the table cannot tell.

    Exact, never the nearest: a laptop part, a vGPU profile and a MIG slice are other cards than the one they are named
    after, and `RTX 2070 Super` (laptop) is not `RTX 2070 SUPER`. Where sizes share a name (RTX 3080: 10 and 12 GiB),
    `memory_total_bytes` decides, and without it the answer is None.

    >>> find_gpu("NVIDIA GeForce RTX 4090").tdp_watts
    450.0
    >>> find_gpu("NVIDIA GeForce RTX 3080", memory_total_bytes=10 * 2**30).memory_bandwidth_gb_per_second
    760.3
    >>> find_gpu("NVIDIA GeForce RTX 4090 Laptop GPU")
    """
    named = _by_nvml_name().get(_without_vendor(nvml_name), ())
    fitting = [model for model in named if memory_total_bytes is None or model.fits(memory_total_bytes)]
    return fitting[0] if len(fitting) == 1 else None


@cache
def _by_nvml_name() -> dict[str, list[GpuModel]]:
    by_name: dict[str, list[GpuModel]] = {}
    for model in gpu_models():
        for name in model.nvml_names:
            by_name.setdefault(_without_vendor(name), []).append(model)
    return by_name


def _without_vendor(nvml_name: str) -> str:
    """Older drivers print `GeForce GTX 1070 Ti`, newer ones `NVIDIA GeForce GTX 1070 Ti`."""
    return nvml_name.strip().removeprefix("NVIDIA ")


def _parse(row: dict[str, str]) -> GpuModel:
    known: dict[str, object] = {column: cell for column, cell in row.items() if cell}
    known["compute_capability"] = row["compute_capability"].split(".")
    for column in ("nvml_names", "verified_cells", "uncertain_cells"):
        known[column] = [name for name in row[column].split(";") if name]
    return msgspec.convert(known, GpuModel, strict=False)
