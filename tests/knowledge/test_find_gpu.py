"""Which row a name printed by the driver leads to, and which names lead nowhere."""

import os
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from rigwise.knowledge.gpus import GpuModel, find_gpu, gpu_models
from rigwise.units import MIB

SHARED = Path(os.environ.get("RIGWISE_SHARED") or Path(__file__).resolve().parents[3] / "shared")
EVIDENCE = SHARED / "evidence"

needs_recordings = pytest.mark.skipif(not EVIDENCE.is_dir(), reason="the shared recordings are not here")

RECORDED = {
    "smi_a100_570.xml": "A100 SXM4 40GB",
    "smi_gb200x4_grace.xml": "GB200 186GB",
    "smi_quadro_p400_418.xml": "Quadro P400",
    "smi_rtx3080_passthrough_536.xml": "GeForce RTX 3080 10 GB",
    "smi_rtx4000sff_ada_595.xml": "RTX 4000 SFF Ada Generation",
    "smi_t4_595_1ce.xml": "Tesla T4",
    "smi_t4_vm_515.xml": "Tesla T4",
}
CAPTURED = {
    "capture_h100_gpuburn_590.txt": "H100 SXM5 80GB",
    "capture_h200_mig_590.txt": "H200 SXM 141GB",
    "capture_rtx2080super_linux_595.txt": "GeForce RTX 2080 SUPER",
    "capture_rtx2080super_windows_591.txt": "GeForce RTX 2080 SUPER",
    "capture_rtx4080super_linux_595.txt": "GeForce RTX 4080 SUPER",
}


def found(nvml_name: str, memory_mib: int | None = None) -> str | None:
    gpu = find_gpu(nvml_name, None if memory_mib is None else memory_mib * MIB)
    return gpu.name if gpu else None


@needs_recordings
@pytest.mark.parametrize(("recording", "expected"), RECORDED.items())
def test_a_recorded_card_agrees_with_its_row(recording: str, expected: str) -> None:
    gpu = ElementTree.parse(EVIDENCE / recording).getroot().find("gpu")
    assert gpu is not None
    total_mib = int(gpu.findtext("fb_memory_usage/total", "").removesuffix(" MiB"))
    row = find_gpu(gpu.findtext("product_name", ""), total_mib * MIB)
    assert row is not None
    assert row.name == expected
    limit = gpu.findtext("gpu_power_readings/default_power_limit") or gpu.findtext("power_readings/default_power_limit")
    assert limit in (f"{row.tdp_watts:.2f} W", "N/A")
    widest = gpu.findtext("pci/pci_gpu_link_info/link_widths/max_link_width")
    assert widest == f"{row.pcie_lanes}x"
    assert gpu.findtext("pci/pci_gpu_link_info/pcie_gen/max_link_gen") == str(row.pcie_gen)


@needs_recordings
@pytest.mark.parametrize(("capture", "expected"), CAPTURED.items())
def test_a_captured_card_agrees_with_its_row(capture: str, expected: str) -> None:
    text = (EVIDENCE / capture).read_text(encoding="utf-8", errors="replace")
    listed = re.search(r"^GPU 0: (.+) \(UUID", text, re.MULTILINE)
    memory_and_limit = re.search(r"W / +(\d+)W \| +\d+MiB / +(\d+)MiB", text)
    assert listed is not None
    assert memory_and_limit is not None
    row = find_gpu(listed[1], int(memory_and_limit[2]) * MIB)
    assert row is not None
    assert (row.name, row.tdp_watts) == (expected, int(memory_and_limit[1]))


@needs_recordings
def test_every_name_in_the_recordings_is_known() -> None:
    recorded = {
        (name.text or "").removeprefix("NVIDIA ")
        for path in EVIDENCE.glob("smi_*.xml")
        for name in ElementTree.parse(path).getroot().iterfind("gpu/product_name")
    }
    known = {name.removeprefix("NVIDIA ") for gpu in gpu_models() for name in gpu.nvml_names}
    assert recorded
    assert recorded <= known


@pytest.mark.parametrize(
    ("nvml_name", "memory_mib", "expected"),
    [  # name and total as nvidia-smi prints them
        ("NVIDIA GeForce RTX 4090", 24564, "GeForce RTX 4090"),
        ("NVIDIA GeForce RTX 4080 SUPER", 16376, "GeForce RTX 4080 SUPER"),
        ("NVIDIA GeForce RTX 5090", 32607, "GeForce RTX 5090"),
        ("NVIDIA GeForce RTX 5070 Ti", 16303, "GeForce RTX 5070 Ti"),
        ("NVIDIA GeForce RTX 3060", 12288, "GeForce RTX 3060 12 GB"),
        ("NVIDIA GeForce RTX 3060", 8192, "GeForce RTX 3060 8 GB"),
        ("NVIDIA GeForce RTX 4060 Ti", 8188, "GeForce RTX 4060 Ti 8 GB"),
        ("NVIDIA GeForce RTX 4060 Ti", 16380, "GeForce RTX 4060 Ti 16 GB"),
        ("GeForce RTX 2080 Ti", 11019, "GeForce RTX 2080 Ti"),
        ("Tesla T4", 15109, "Tesla T4"),
        ("Tesla K80", 11441, "Tesla K80 (one of two GPUs)"),
        ("Tesla V100-SXM2-32GB", 32510, "Tesla V100 SXM2 32GB"),
        ("NVIDIA A10G", 23028, "A10G"),
        ("NVIDIA A40", 46068, "A40"),
        ("NVIDIA L4", 23034, "L4"),
        ("NVIDIA L40S", 46068, "L40S"),
        ("NVIDIA RTX 6000 Ada Generation", 49140, "RTX 6000 Ada Generation"),
        ("NVIDIA A100-PCIE-40GB", 40960, "A100 PCIe 40GB"),
        ("NVIDIA A100-SXM4-80GB", 81920, "A100 SXM4 80GB"),
        ("NVIDIA A100 80GB PCIe", 81920, "A100 PCIe 80GB"),
        ("NVIDIA H100 80GB HBM3", 81559, "H100 SXM5 80GB"),
        ("NVIDIA H100 PCIe", 81559, "H100 PCIe 80GB"),
        ("NVIDIA H100 NVL", 95830, "H100 NVL 94GB"),
        ("NVIDIA H200", 143771, "H200 SXM 141GB"),
        ("NVIDIA H200 NVL", 143771, "H200 NVL 141GB"),
        ("NVIDIA A30", 24576, "A30"),
        ("NVIDIA GB300", 284208, "GB300 279GB"),
        ("NVIDIA GeForce RTX 4070 Ti", 12282, "GeForce RTX 4070 Ti"),
        ("NVIDIA GeForce RTX 5080", 16303, "GeForce RTX 5080"),
        ("NVIDIA GH200 480GB", 97871, "GH200 96GB"),
        ("NVIDIA B200", 183359, "B200 SXM 180GB"),
        ("NVIDIA B300 SXM6 AC", 275040, "B300 SXM 270GB"),
        ("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", 97887, "RTX PRO 6000 Blackwell Max-Q"),
        ("NVIDIA RTX PRO 5000 72GB Blackwell", None, "RTX PRO 5000 72 GB Blackwell"),
        ("NVIDIA GB10", None, "GB10 128GB"),
    ],
)
def test_names_the_driver_prints(nvml_name: str, memory_mib: int | None, expected: str) -> None:
    assert found(nvml_name, memory_mib) == expected


@pytest.mark.parametrize(
    "nvml_name",
    [
        "NVIDIA GeForce RTX 4090 Laptop GPU",
        "NVIDIA GeForce RTX 5070 Ti Laptop GPU",
        "NVIDIA GeForce RTX 2080 with Max-Q Design",
        "NVIDIA GeForce RTX 2070 Super",  # the laptop part; the desktop card is SUPER
        "NVIDIA RTX 5000 Ada Generation Laptop GPU",
        "NVIDIA A100-SXM4-80GB MIG 1g.10gb",
        "GRID T4-16Q",
        "NVIDIA A40-48Q",
        "NVIDIA RTX A2000",  # 6 GB; the table has the 12 GB card
        "NVIDIA H100",
        "NVIDIA",
        "Tesla",
        "",
    ],
)
def test_other_cards_with_a_similar_name_are_not_taken_for_one(nvml_name: str) -> None:
    assert find_gpu(nvml_name) is None


@pytest.mark.parametrize("nvml_name", ["NVIDIA GeForce RTX 3080", "NVIDIA GeForce RTX 4060 Ti"])
def test_a_name_shared_by_two_sizes_says_nothing_without_the_size(nvml_name: str) -> None:
    assert find_gpu(nvml_name) is None


@pytest.mark.parametrize(("nvml_name", "memory_mib"), [("NVIDIA GeForce RTX 4090", 49140), ("Tesla T4", 0)])
def test_a_card_with_another_amount_of_memory_is_another_card(nvml_name: str, memory_mib: int) -> None:
    assert found(nvml_name, memory_mib) is None


@pytest.mark.parametrize("gpu", gpu_models(), ids=lambda gpu: gpu.name)
def test_every_row_is_found_by_its_own_names_and_size(gpu: GpuModel) -> None:
    for nvml_name in gpu.nvml_names:
        assert find_gpu(nvml_name, gpu.memory_bytes) is gpu
        assert find_gpu(nvml_name.removeprefix("NVIDIA "), round(gpu.memory_bytes * 0.93)) is gpu
