"""Which wheel runs where: the tables against each other, and the advice for the cards people ask about."""

import pytest

from rigwise.knowledge.architectures import (
    capability_of_name,
    capability_of_pci_id,
    cuda_compiles_for,
    needs_open_module,
    refuses_open_module,
    runs_on,
)
from rigwise.knowledge.drivers import (
    cuda_of_driver,
    driver_install_commands,
    needed_driver,
    toolkit_drivers,
    version_numbers,
)
from rigwise.knowledge.frameworks import (
    best_torch_build,
    jax_builds,
    jax_install_command,
    newest_torch_python,
    tensorflow_builds,
    torch_builds,
    torch_install_command,
)
from rigwise.knowledge.gpus import gpu_models

TABLES = (torch_builds(), tensorflow_builds(), jax_builds(), toolkit_drivers())


def test_every_row_names_its_source_and_date() -> None:
    for row in (row for table in TABLES for row in table):
        assert row.source.startswith("https://")
        assert row.checked_on.startswith("2026-")


def test_releases_go_upwards_and_none_stands_twice() -> None:
    builds = [(version_numbers(build.release), version_numbers(build.cuda)) for build in torch_builds()]
    assert builds == sorted(set(builds))
    releases = [version_numbers(build.release) for build in tensorflow_builds()]
    assert releases == sorted(set(releases))


def test_every_release_has_one_build_on_pypi() -> None:
    releases = {build.release for build in torch_builds()}
    assert {build.release for build in torch_builds() if build.kind == "pypi"} == releases
    assert sum(build.kind == "pypi" for build in torch_builds()) == len(releases)


def test_no_build_has_code_that_its_cuda_cannot_compile() -> None:
    for build in torch_builds():
        for number in build.architectures.split():
            device = (int(number[:-1]), int(number[-1]))
            cuda = version_numbers(build.cuda)
            assert cuda_compiles_for((cuda[0], cuda[1]), device), (build.release, build.cuda, number)


def test_the_last_wheels_for_pascal_and_volta() -> None:
    for capability in ((6, 1), (7, 0), (5, 2)):
        build = best_torch_build([capability], "580.95.05", (3, 12))
        assert build is not None
        assert (build.release, build.wheel) == ("2.14", "cu126")
    assert not [build for build in torch_builds() if build.release == "2.15" and build.cuda.startswith("12")]


@pytest.mark.parametrize(
    ("capability", "driver", "python", "wheel"),
    [
        ((12, 0), "570.124.06", (3, 12), ("2.11", "cu128")),
        ((12, 0), "580.65.06", (3, 12), ("2.15", "cu132")),
        ((8, 9), "550.54.14", (3, 12), ("2.14", "cu126")),
        ((8, 9), "525.60.13", (3, 9), ("2.8", "cu128")),
        ((8, 0), "470.182.03", (3, 10), ("2.7", "cu118")),
        ((12, 1), "580.95.05", (3, 12), ("2.15", "cu132")),
    ],
)
def test_the_wheel_for_a_card_a_driver_and_a_python(
    capability: tuple[int, int], driver: str, python: tuple[int, int], wheel: tuple[str, str]
) -> None:
    build = best_torch_build([capability], driver, python)
    assert build is not None
    assert (build.release, build.wheel) == wheel


def test_where_nothing_fits_there_is_no_advice() -> None:
    assert best_torch_build([(6, 1), (12, 0)]) is None
    assert best_torch_build([(6, 1)], python=(3, 15)) is None
    assert best_torch_build([(8, 6)], "430.64") is None


def test_windows_numbers_its_drivers_differently() -> None:
    assert needed_driver("12.6", windows=True) == "528.33"
    linux, windows = (best_torch_build([(8, 6)], "527.0", windows=windows) for windows in (False, True))
    assert linux is not None
    assert windows is not None
    assert (linux.wheel, windows.wheel) == ("cu126", "cu118")


def test_the_command_installs_over_what_is_there() -> None:
    newest = best_torch_build([(8, 9)], "590.44.01")
    assert newest is not None
    assert torch_install_command(newest, plain=True) == "pip install --force-reinstall torch"
    beside = torch_install_command(newest, beside=["torchaudio"])
    assert beside == "pip install --force-reinstall torch torchaudio --index-url https://download.pytorch.org/whl/cu132"


def test_jax_asks_for_the_family_that_the_driver_and_the_card_allow() -> None:
    assert jax_install_command([(8, 9)], "570.124.06") == 'pip install -U "jax[cuda12]"'
    assert jax_install_command([(8, 9)], "580.65.06") == 'pip install -U "jax[cuda13]"'
    assert jax_install_command([(6, 1)], "580.65.06") == 'pip install -U "jax[cuda12]"'
    assert jax_install_command([(8, 9)], "580.65.06", windows=True) is None
    assert jax_install_command([(5, 0)], "580.65.06") is None


def test_toolkits_and_their_drivers_go_together() -> None:
    numbers = [(version_numbers(one.cuda), version_numbers(one.driver_linux)) for one in toolkit_drivers()]
    assert numbers == sorted(numbers, reverse=True)
    for toolkit in toolkit_drivers():
        shown = cuda_of_driver(toolkit.driver_linux)
        assert shown == version_numbers(toolkit.cuda)


def test_names_tell_the_architecture_that_the_table_has() -> None:
    wrong = {
        name: (model.compute_capability, capability_of_name(name))
        for model in gpu_models()
        for name in model.nvml_names
        if capability_of_name(name) != model.compute_capability
    }
    assert wrong == {}


@pytest.mark.parametrize(
    ("name", "capability"),
    [
        ("NVIDIA GeForce RTX 5090 D", (12, 0)),
        ("NVIDIA RTX 5000 Ada Generation", (8, 9)),
        ("Quadro RTX 5000", (7, 5)),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", (12, 0)),
        ("GeForce GTX TITAN X", (5, 2)),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", (8, 0)),
        ("AMD Radeon RX 7900 XTX", None),
    ],
)
def test_names_of_cards_outside_the_table(name: str, capability: tuple[int, int] | None) -> None:
    assert capability_of_name(name) == capability


def test_which_kernel_module_drives_a_chip() -> None:
    blackwell, ada, pascal = (capability_of_pci_id(f"10de:{number}") for number in ("2b85", "2684", "1b06"))
    assert blackwell is not None
    assert ada is not None
    assert pascal is not None
    assert [needs_open_module(chip) for chip in (blackwell, ada, pascal)] == [True, False, False]
    assert [refuses_open_module(chip) for chip in (blackwell, ada, pascal)] == [False, False, True]
    assert capability_of_pci_id("8086:2684") is None
    assert capability_of_pci_id("10de:xyz") is None


def test_family_and_exact_architectures() -> None:
    assert runs_on(("sm_100f",), (10, 3))
    assert not runs_on(("sm_100a",), (10, 3))
    assert runs_on(("sm_120",), (12, 1))


@pytest.mark.parametrize(
    ("system", "word"),
    [
        ("Ubuntu 22.04.5 LTS", "ubuntu-drivers"),
        ("Debian GNU/Linux 12 (bookworm)", "apt install nvidia-driver"),
        ("Fedora Linux 42 (Workstation Edition)", "akmod-nvidia"),
        ("Rocky Linux 9.5 (Blue Onyx)", "dnf install nvidia-open"),
        ("Arch Linux", "pacman"),
    ],
)
def test_the_driver_is_installed_as_the_system_does_it(system: str, word: str) -> None:
    (command,) = driver_install_commands(system)
    assert word in command


def test_an_unknown_system_gets_no_command() -> None:
    assert driver_install_commands("Research OS 3") == ()


def test_the_newest_python_is_compared_as_numbers() -> None:
    assert newest_torch_python() == "3.15"


@pytest.mark.parametrize(
    ("capabilities", "driver", "python", "windows", "command"),
    [
        ([(12, 0)], "576.02", (3, 10), True, '"torch<2.12" --index-url https://download.pytorch.org/whl/cu128'),
        ([(12, 0)], "580.88", (3, 12), True, "torch --index-url https://download.pytorch.org/whl/cu132"),
        ([(7, 5)], "528.49", (3, 14), True, '"torch<2.15" --index-url https://download.pytorch.org/whl/cu126'),
        ([(7, 5)], "452.39", (3, 8), True, '"torch<2.5" --index-url https://download.pytorch.org/whl/cu118'),
        ([(8, 6)], "470.86", (3, 12), False, '"torch<2.8" --index-url https://download.pytorch.org/whl/cu118'),
        ([(3, 7)], "470.239.06", (3, 9), False, '"torch<2.3" --index-url https://download.pytorch.org/whl/cu118'),
        ([(9, 0)], "525.60.13", (3, 11), False, '"torch<2.15" --index-url https://download.pytorch.org/whl/cu126'),
        ([(8, 6)], "580.65.06", (3, 10), False, '"torch<2.15" --index-url https://download.pytorch.org/whl/cu130'),
    ],
)
def test_the_command_for_a_card_a_driver_a_python_and_a_system(
    capabilities: list[tuple[int, int]], driver: str, python: tuple[int, int], windows: bool, command: str
) -> None:
    build = best_torch_build(capabilities, driver, python, windows=windows)
    assert build is not None
    assert torch_install_command(build) == f"pip install --force-reinstall {command}"


@pytest.mark.parametrize(
    ("capabilities", "driver", "python", "windows"),
    [
        ([(6, 1), (12, 0)], "580.95.05", (3, 12), False),
        ([(6, 0)], "410.104", (3, 6), False),
        ([(6, 1)], "441.22", (3, 7), True),
    ],
)
def test_no_wheel_is_named_that_does_not_exist(
    capabilities: list[tuple[int, int]], driver: str, python: tuple[int, int], windows: bool
) -> None:
    """Pascal beside Blackwell, a driver before CUDA 10.2, and CUDA 10.2 on Windows."""
    assert best_torch_build(capabilities, driver, python, windows=windows) is None
