"""What a link carries, and which links are not judged."""

import pytest

from rigwise.knowledge.nvlink import find_nvlink, nvlink_models
from rigwise.knowledge.pcie import (
    gb_per_second,
    is_fixed_by_maker,
    is_virtual,
    lanes_of_card,
    pcie_generations,
)
from rigwise.records.topology import Platform


@pytest.mark.parametrize(
    ("gen", "width", "expected"),
    [(1, 16, 4.0), (2, 16, 8.0), (3, 16, 15.75), (3, 4, 3.94), (4, 16, 31.5), (5, 8, 31.5), (5, 16, 63.0)],
)
def test_what_a_link_carries(gen: int, width: int, expected: float) -> None:
    assert gb_per_second(gen, width) == pytest.approx(expected, rel=0.01)


def test_each_generation_is_faster_and_has_a_source() -> None:
    rates = [row.gb_per_second_per_lane for row in pcie_generations().values()]
    assert rates == sorted(rates)
    assert list(pcie_generations()) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("name", "chip", "lanes"),
    [
        ("NVIDIA GeForce RTX 4060", "", 8),
        ("GeForce RTX 4060", "AD107", 8),
        ("", "GB206", 8),
        ("GeForce GT 1030", "", 4),
        ("", "GP108M", 4),
        ("A2 / A16", "GA107GL", 8),
        ("NVIDIA GeForce RTX 4090", "AD102", 16),
        ("NVIDIA GeForce RTX 9090", "", None),
    ],
)
def test_lanes_of_a_card(name: str, chip: str, lanes: int | None) -> None:
    assert lanes_of_card(name, chip=chip) == lanes


@pytest.mark.parametrize(
    "name",
    [
        "NVIDIA GeForce RTX 4070 Laptop GPU",
        "GeForce GTX 1650 Mobile / Max-Q",
        "NVIDIA GeForce RTX 2070 with Max-Q Design",
        "NVIDIA GeForce MX450",
        "GeForce GTX 860M",
        "NVIDIA GB10",
        "NVIDIA GH200 480GB",
        "Orin (nvgpu)",
        "NVIDIA A100-SXM4-40GB MIG 1g.5gb",
        "GRID T4-8Q",
        "NVIDIA A40-48Q",
    ],
)
def test_there_is_no_slot_to_judge(name: str) -> None:
    assert is_fixed_by_maker(name)


@pytest.mark.parametrize(
    "name",
    [
        "NVIDIA GeForce RTX 4090",
        "Tesla V100-PCIE-16GB",
        "NVIDIA A100-SXM4-80GB",
        "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition",
        "NVIDIA RTX A6000",
        "Quadro M4000",
        "Tesla M40 24GB",
    ],
)
def test_there_is_one(name: str) -> None:
    assert not is_fixed_by_maker(name)


@pytest.mark.parametrize(
    ("platform", "virtual"),
    [
        (Platform(vendor="QEMU", product="Standard PC (Q35 + ICH9, 2009)"), True),
        (Platform(vendor="Microsoft Corporation", product="Virtual Machine"), True),
        (Platform(vendor="Google", product="Google Compute Engine"), True),
        (Platform(hypervisor=True), True),
        (Platform(vendor="ASUS", product="PRIME X670E-PRO", chassis=3), False),
        (Platform(vendor="Microsoft Corporation", product="Surface Laptop Studio", chassis=9), False),
    ],
)
def test_virtual_machines_are_known(platform: Platform, virtual: bool) -> None:
    assert is_virtual(platform) is virtual


@pytest.mark.parametrize(
    ("name", "links", "fitted"),
    [
        ("Tesla V100-SXM2-32GB", 6, "board"),
        ("NVIDIA A100-SXM-80GB", 12, "board"),
        ("NVIDIA H200", 18, "board"),
        ("NVIDIA H200 NVL", 18, "bridge"),
        ("NVIDIA H20", 18, "board"),
        ("NVIDIA GB200", 18, "board"),
        ("NVIDIA B300 SXM6 AC", 18, "board"),
        ("NVIDIA GeForce RTX 2080 Ti", 2, "bridge"),
    ],
)
def test_nvlinks_of_a_gpu(name: str, links: int, fitted: str) -> None:
    model = find_nvlink(name)
    assert model is not None
    assert (model.links, model.fitted) == (links, fitted)


@pytest.mark.parametrize("name", ["NVIDIA RTX A4000", "NVIDIA L40S", "Tesla T4", "NVIDIA GeForce RTX 4090"])
def test_others_have_none(name: str) -> None:
    assert find_nvlink(name) is None


def test_every_nvlink_row_has_a_source() -> None:
    assert all(model.source and model.checked_on for model in nvlink_models())
