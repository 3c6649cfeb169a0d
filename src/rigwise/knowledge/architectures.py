"""GPU architectures: what compiled code runs on which, and which chips hide behind a PCI device id."""

import re
from collections.abc import Iterator, Sequence

Capability = tuple[int, int]

_CHIPS: tuple[tuple[int, int, Capability], ...] = (
    (0x1340, 0x13FF, (5, 0)),
    (0x15F0, 0x15FF, (6, 0)),
    (0x1720, 0x172F, (6, 0)),
    (0x1400, 0x17FF, (5, 2)),
    (0x1B00, 0x1D7F, (6, 1)),
    (0x1D80, 0x1DFF, (7, 0)),
    (0x1E00, 0x1FFF, (7, 5)),
    (0x2180, 0x21FF, (7, 5)),
    (0x2080, 0x20FF, (8, 0)),
    (0x2200, 0x22FF, (8, 6)),
    (0x2300, 0x23FF, (9, 0)),
    (0x2400, 0x25FF, (8, 6)),
    (0x2600, 0x28FF, (8, 9)),
    (0x2900, 0x29FF, (10, 0)),
    (0x2B00, 0x2FFF, (12, 0)),
)
"""Ranges of device ids and the capability of their chips.

Compared on 2026-11-30 with the 493 named chips of pci.ids 2023.04.10 (Debian); the ranges of Blackwell (0x29.., 0x2B..
to 0x2F..) are newer than that list and from general knowledge.
"""


_NAMES: tuple[tuple[str, Capability], ...] = (
    (r"Quadro RTX|TITAN RTX|RTX 20[678]0|GTX 16[0-9]0|\bT4\b|\bT\d{3,4}\b", (7, 5)),
    (r"\d (?:SFF )?Ada\b|RTX 40[5-9]0|\bL40S?\b|\bL4\b", (8, 9)),
    (r"\bGB10\b", (12, 1)),
    (r"\bThor\b", (11, 0)),
    (r"RTX 50[5-9]0|RTX PRO \d+", (12, 0)),
    (r"\bG?B300\b", (10, 3)),
    (r"\bG?B[12]00\b", (10, 0)),
    (r"\bG?H[12]00\b|\bH800\b|\bH20\b", (9, 0)),
    (r"RTX 30[5-9]0|RTX 2050|RTX A\d{3,4}\b|\bA(?:2|10|10G|16|40)\b", (8, 6)),
    (r"\bA(?:30|100|800)\b", (8, 0)),
    (r"\bV100|TITAN V\b|Quadro GV100", (7, 0)),
    (r"GTX 9[5-9]0|GTX TITAN X|\bM[46]0\b", (5, 2)),
    (r"GTX 10[0-9]0|TITAN Xp?\b|\bP40\b|\bP4\b|Quadro P\d+|\bGT 10[0-9]0|MX[123]50", (6, 1)),
    (r"\bP100\b", (6, 0)),
    (r"GTX 7[45]0|Quadro K620|MX130", (5, 0)),
    (r"\bK80\b", (3, 7)),
)
"""Products and the capability of their chips (https://developer.nvidia.com/cuda-gpus, and its legacy page)."""
_FIRST_CUDA: tuple[tuple[int, tuple[int, int]], ...] = ((12, (12, 8)), (10, (12, 8)), (9, (11, 8)), (8, (11, 0)))
"""The first CUDA that compiles code for any chip of a major capability, newest first."""
_DROPPED: tuple[tuple[Capability, tuple[int, int]], ...] = (((3, 7), (12, 0)), ((7, 0), (13, 0)))
"""Capabilities up to which a CUDA version dropped code; CUDA 12 dropped Kepler, CUDA 13 everything before Turing."""


def capability_of_name(name: str) -> Capability | None:
    """The compute capability of a product, by its name; None for one that no row knows.

    >>> capability_of_name("NVIDIA GeForce RTX 4090 Laptop GPU"), capability_of_name("Tesla V100-SXM2-16GB")
    ((8, 9), (7, 0))
    """
    return next((capability for pattern, capability in _NAMES if re.search(pattern, name)), None)


def cuda_compiles_for(cuda: tuple[int, int], device: Capability) -> bool:
    """Whether a CUDA version can compile code that runs on a device, whatever a build chose of it.

    >>> cuda_compiles_for((12, 4), (12, 0)), cuda_compiles_for((13, 0), (6, 1)), cuda_compiles_for((12, 4), (8, 9))
    (False, False, True)
    """
    first = next((first for major, first in _FIRST_CUDA if device[0] == major), (0, 0))
    return cuda >= first and not any(device <= last and cuda >= since for last, since in _DROPPED)


def runs_on(architectures: Sequence[str], device: Capability) -> bool:
    """Whether one of the compiled architectures runs on a device.

    Code for sm_XY runs on capability X.Z with Z >= Y, code for sm_XYa only on X.Y, code for sm_XYf within the family X
    (CUDA C++ Programming Guide, "Binary Compatibility").

    >>> runs_on(("sm_80", "sm_86"), (8, 9)), runs_on(("sm_80", "sm_90"), (12, 0)), runs_on(("sm_90a",), (9, 0))
    (True, False, True)
    """
    return any(_binary_runs(*parts, device) for parts in _architectures("sm", architectures))


def has_ptx(architectures: Sequence[str], device: Capability) -> bool:
    """Whether PTX (`compute_XY`) is there that a driver may compile for the device.

    >>> has_ptx(("sm_80", "compute_80"), (9, 0)), has_ptx(("sm_80",), (9, 0))
    (True, False)
    """
    return any(built <= device for built, _kind in _architectures("compute", architectures))


def _binary_runs(built: Capability, kind: str, device: Capability) -> bool:
    if kind == "a":
        return built == device
    return built[0] == device[0] and built[1] <= device[1]


def _architectures(prefix: str, architectures: Sequence[str]) -> Iterator[tuple[Capability, str]]:
    for architecture in architectures:
        found = re.fullmatch(rf"{prefix}_(\d{{2,3}})([af]?)", architecture)
        if found:
            yield capability_of(found[1]), found[2]


def capability_of(digits: str) -> Capability:
    """The compute capability that a number of an architecture names.

    >>> capability_of("86"), capability_of("120")
    ((8, 6), (12, 0))
    """
    return int(digits[:-1]), int(digits[-1])


def capability_of_pci_id(device_id: str) -> Capability | None:
    """The compute capability of the chip behind a PCI device id, its minor number not exact; None for another chip.

    >>> capability_of_pci_id("10de:2b85"), capability_of_pci_id("10de:2684"), capability_of_pci_id("10de:1b06")
    ((12, 0), (8, 9), (6, 1))
    """
    vendor, _, device = device_id.lower().partition(":")
    if vendor != "10de" or not re.fullmatch(r"[0-9a-f]{4}", device):
        return None
    number = int(device, 16)
    return next((one for first, last, one in _CHIPS if first <= number <= last), None)


def needs_open_module(device: Capability) -> bool:
    """Whether only the open kernel module drives the chip: Grace Hopper and everything since Blackwell.

    https://developer.nvidia.com/blog/nvidia-transitions-fully-towards-open-source-gpu-kernel-modules/
    """
    return device >= (10, 0)


def refuses_open_module(device: Capability) -> bool:
    """Whether the open kernel module does not drive the chip, for it has no GSP: everything before Turing."""
    return device < (7, 5)
