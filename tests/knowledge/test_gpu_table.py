"""Every row of gpus.csv against physics, against its own columns, and against figures known by heart."""

import re

import pytest

from rigwise.knowledge.gpus import GpuModel, gpu_models

RATES = tuple(field for field in GpuModel.__struct_fields__ if field.endswith(("_tflops", "_tops")))
TENSOR_RATES = tuple(rate for rate in RATES if "tensor" in rate)
NUMBERS = (*RATES, "memory_gib", "memory_bandwidth_gb_per_second", "tdp_watts", "nvlink_gb_per_second")

# Gbit/s per pin, from the slowest to the fastest part of each memory generation that NVIDIA has sold.
PIN_RATES = {
    "GDDR5": (4, 9),
    "GDDR5X": (10, 12),
    "GDDR6": (10, 20),
    "GDDR6X": (19, 23),
    "GDDR7": (18, 30),
    "HBM2": (1.4, 2.5),
    "HBM2e": (2.4, 3.2),
    "HBM3": (5.2, 5.3),
    "HBM3e": (6.2, 8.1),
    "LPDDR5": (4.2, 6.4),
    "LPDDR5X": (8.5, 8.6),
}
CAPABILITIES = {
    "Kepler": {(3, 7)},
    "Maxwell": {(5, 2)},
    "Pascal": {(6, 0), (6, 1)},
    "Volta": {(7, 0)},
    "Turing": {(7, 5)},
    "Ampere": {(8, 0), (8, 6), (8, 7)},
    "Ada Lovelace": {(8, 9)},
    "Hopper": {(9, 0)},
    "Blackwell": {(10, 0), (10, 3), (11, 0), (12, 0), (12, 1)},
}
PCIE_GEN = {"Ampere": 4, "Ada Lovelace": 4, "Hopper": 5, "Blackwell": 5}
LAUNCHED = {"Kepler": (2012, 2014), "Pascal": (2016, 2017), "Turing": (2018, 2021), "Blackwell": (2024, 2026)}

# Dense FP16 tensor rate over FP32 rate, from operations per clock and multiprocessor in the architecture whitepapers.
# A rate copied with sparsity would be twice as large.
DENSE_FP16_PER_FP32 = {
    (7, 0): 8,
    (7, 5): 8,
    (8, 0): 16,
    (8, 6): 4,
    (8, 7): 8,
    (8, 9): 4,
    (9, 0): 16,
    (10, 0): 32,
    (10, 3): 32,
    (11, 0): 32,
    (12, 0): 4,
    (12, 1): 4,
}

each_gpu = pytest.mark.parametrize("gpu", gpu_models(), ids=lambda gpu: gpu.name)


def named(name: str) -> GpuModel:
    return next(gpu for gpu in gpu_models() if gpu.name == name)


def rate(gpu: GpuModel, column: str) -> float | None:
    value = getattr(gpu, column)
    assert value is None or isinstance(value, int | float)
    return value


def test_every_gpu_that_was_given_is_still_there() -> None:
    assert len(gpu_models()) >= 119


@each_gpu
def test_bandwidth_is_what_the_memory_bus_can_carry(gpu: GpuModel) -> None:
    slowest, fastest = PIN_RATES[gpu.memory_type]
    if gpu.memory_bus_bits is not None:
        per_pin = gpu.memory_bandwidth_gb_per_second * 8 / gpu.memory_bus_bits
        assert slowest * 0.99 <= per_pin <= fastest * 1.01


@each_gpu
def test_compute_capability_belongs_to_the_architecture(gpu: GpuModel) -> None:
    assert gpu.compute_capability in CAPABILITIES[gpu.architecture]


@each_gpu
def test_tensor_cores_outrun_the_others_without_sparsity(gpu: GpuModel) -> None:
    fp16 = gpu.fp16_tensor_fp16_accumulate_tflops
    if fp16 is not None:
        assert 1.99 <= fp16 / gpu.fp32_tflops <= 1.06 * DENSE_FP16_PER_FP32[gpu.compute_capability]


@each_gpu
def test_narrower_numbers_are_never_slower(gpu: GpuModel) -> None:
    ladder = (
        gpu.tf32_tensor_tflops,
        gpu.bf16_tensor_tflops,
        gpu.fp8_tensor_fp32_accumulate_tflops,
        gpu.fp8_tensor_fp16_accumulate_tflops,
        gpu.fp4_tensor_tflops,
    )
    known = [step for step in ladder if step is not None]
    assert known == sorted(known)


@each_gpu
def test_only_geforce_halves_the_rate_when_accumulating_in_fp32(gpu: GpuModel) -> None:
    fast, exact = gpu.fp16_tensor_fp16_accumulate_tflops, gpu.fp16_tensor_fp32_accumulate_tflops
    if fast is not None and exact is not None:
        expected = 0.5 if gpu.name.startswith("GeForce") else 1
        assert exact / fast == pytest.approx(expected, rel=0.01)


@each_gpu
def test_bf16_runs_at_the_rate_of_fp16_with_fp32_accumulation(gpu: GpuModel) -> None:
    assert gpu.bf16_tensor_tflops in (None, gpu.fp16_tensor_fp32_accumulate_tflops)


@each_gpu
def test_a_rate_exists_only_where_the_tensor_cores_know_the_number_format(gpu: GpuModel) -> None:
    has_tensor_cores = gpu.compute_capability >= (7, 0) and "GTX" not in gpu.name
    first = {"fp16": (7, 0), "int8": (7, 5), "tf32": (8, 0), "bf16": (8, 0), "fp8": (8, 9), "fp4": (10, 0)}
    for column in TENSOR_RATES:
        if rate(gpu, column) is not None:
            assert has_tensor_cores
            assert gpu.compute_capability >= first[column.split("_")[0]]


@each_gpu
def test_power_bus_and_year_are_plausible(gpu: GpuModel) -> None:
    assert 10 <= gpu.tdp_watts <= 1400
    assert (gpu.pcie_gen is None) == (gpu.pcie_lanes is None) == gpu.memory_type.startswith("LPDDR")
    assert gpu.pcie_lanes in (None, 8, 16)
    expected_gen = 6 if gpu.compute_capability == (10, 3) else PCIE_GEN.get(gpu.architecture, 3)
    assert gpu.pcie_gen in (None, expected_gen)
    earliest, latest = LAUNCHED.get(gpu.architecture, (2015, 2024))
    assert earliest <= gpu.launch_year <= latest


@each_gpu
def test_every_number_is_positive(gpu: GpuModel) -> None:
    for column in NUMBERS:
        value = rate(gpu, column)
        assert value is None or value > 0 or column == "nvlink_gb_per_second"


@each_gpu
def test_a_row_says_where_it_comes_from_and_what_was_checked(gpu: GpuModel) -> None:
    assert gpu.source
    assert bool(gpu.verified_cells) == (gpu.verified != "no") == ("; seen: " in gpu.source)
    assert bool(re.fullmatch(r"\d{4}-\d\d-\d\d", gpu.checked_on)) == (gpu.verified != "no")
    for cell in gpu.verified_cells + gpu.uncertain_cells:
        assert getattr(gpu, cell) is not None
    assert not set(gpu.verified_cells) & set(gpu.uncertain_cells)


@pytest.mark.parametrize("gpu", [gpu for gpu in gpu_models() if gpu.verified == "yes"], ids=lambda gpu: gpu.name)
def test_verified_means_memory_bandwidth_power_and_a_rate_were_seen(gpu: GpuModel) -> None:
    assert {"memory_gib", "memory_bandwidth_gb_per_second", "tdp_watts"} <= set(gpu.verified_cells)
    assert set(gpu.verified_cells) & set(RATES)


@pytest.mark.parametrize(
    ("name", "column", "expected"),
    [  # NVIDIA whitepapers and datasheets; where they print the sparse rate, half of it.
        ("GeForce RTX 4090", "fp16_tensor_fp32_accumulate_tflops", 165.2),
        ("GeForce RTX 4090", "fp8_tensor_fp16_accumulate_tflops", 1321 / 2),
        ("GeForce RTX 3090", "fp16_tensor_fp16_accumulate_tflops", 142),
        ("GeForce RTX 5090", "fp4_tensor_tflops", 3352 / 2),
        ("GeForce RTX 5090 D", "fp4_tensor_tflops", 2375 / 2),
        ("GeForce RTX 2080 Ti", "fp16_tensor_fp16_accumulate_tflops", 107.6),
        ("Tesla T4", "int8_tensor_tops", 130),
        ("Tesla V100 SXM2 16GB", "fp16_tensor_fp32_accumulate_tflops", 125),
        ("A100 SXM4 80GB", "bf16_tensor_tflops", 312),
        ("A100 PCIe 80GB", "memory_bandwidth_gb_per_second", 1935),
        ("H100 SXM5 80GB", "fp8_tensor_fp32_accumulate_tflops", 3958 / 2),
        ("H100 PCIe 80GB", "bf16_tensor_tflops", 1513 / 2),
        ("B200 SXM 180GB", "fp4_tensor_tflops", 18_000 / 2),
        ("B300 SXM 270GB", "int8_tensor_tops", 150),
        ("RTX 6000 Ada Generation", "fp8_tensor_fp32_accumulate_tflops", 1457 / 2),
        ("RTX A4000", "fp16_tensor_fp32_accumulate_tflops", 153.4 / 2),
        ("L40", "bf16_tensor_tflops", 181.05),
        ("L40S", "bf16_tensor_tflops", 362.05),
    ],
)
def test_published_figures(name: str, column: str, expected: float) -> None:
    assert rate(named(name), column) == pytest.approx(expected, rel=0.005)
