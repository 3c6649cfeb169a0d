"""Lines that name a framework, a Python, a card or a driver: what is taken from them, and what is not."""

import pytest

from rigwise.probes.programs.program_output import read_named_driver, read_refused_cuda
from rigwise.probes.software.printed_environment import printed_environment
from rigwise.records.evidence import Evidence, Status
from rigwise.records.reading import Reading, present

WARNED = r"""
PS D:\app> .\venv\Scripts\python.exe -c "import torch; print(torch.__version__); print(torch.cuda.is_available())"
D:\app\venv\Lib\site-packages\torch\cuda\__init__.py:182: UserWarning: CUDA initialization: something
2.9.1+cu130
False
"""


def output(text: str) -> Reading[str]:
    evidence = Evidence(source="program output", key="program output", status=Status.OK, text=text)
    return present("program output", text, evidence)


def test_the_answers_below_a_warning_belong_to_the_command_above_it() -> None:
    found = printed_environment(WARNED)
    (torch,) = found.frameworks
    assert (torch.version, torch.cuda_build, torch.cuda_available) == ("2.9.1+cu130", "13.0", False)
    assert found.os_name == "Windows"


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ("pytorch version: 2.8.0+cu129", "2.8.0+cu129"),
        ("- PyTorch version: 2.7.0+cu126", "2.7.0+cu126"),
        ("* **PyTorch**: `2.11.0+cpu`", "2.11.0+cpu"),
        ("[INFO] torch.__version__ = 2.1.0", "2.1.0"),
    ],
)
def test_a_line_names_the_build(line: str, version: str) -> None:
    (torch,) = printed_environment(f"{line}\n").frameworks
    assert torch.version == version
    assert not torch.asked_for_cuda


@pytest.mark.parametrize(
    "text",
    [
        "Successfully installed torch-2.11.0+cpu",
        "Collecting torch==2.11.0",
        "ERROR: torch-2.1.0+cu121-cp310-cp310-linux_x86_64.whl is not a supported wheel on this platform.",
        "torchvision 0.16 requires torch==2.1.0, but you have torch 2.2.0",
        'If you get the "Torch not compiled with CUDA enabled" error, uninstall torch',
        "GPU: NVIDIA GeForce RTX 4090",
    ],
)
def test_what_pip_and_manuals_print_names_no_build(text: str) -> None:
    assert printed_environment(text).frameworks == ()


def test_the_card_is_told_by_its_name() -> None:
    (torch,) = printed_environment(
        "pytorch version: 2.8.0+cu129\nDevice: cuda:0 NVIDIA GeForce GTX 1070 : x"
    ).frameworks
    assert torch.device_capabilities == ((6, 1),)


@pytest.mark.parametrize(
    ("text", "driver"),
    [
        ("- NVIDIA driver: `580.88`", "580.88"),
        ("- CUDA Driver: 12.0 (Driver 528.49)", "528.49"),
        ("Nvidia driver version: 535.129.03", "535.129.03"),
        ("I updated NVIDIA drivers from 525.125.06 to 535.113.01", None),
        ("Intel driver: 101.55", None),
    ],
)
def test_a_driver_is_taken_from_a_label_only(text: str, driver: str | None) -> None:
    assert read_named_driver(output(text)).value == driver


def test_a_refusal_names_the_newest_cuda_of_the_driver() -> None:
    text = "The NVIDIA driver on your\nsystem is too old (found version 12080)."
    assert read_refused_cuda(output(text)).value == (12, 8)
    assert read_refused_cuda(output("fine")).status is Status.NOT_RECORDED


def test_a_variable_that_was_echoed_is_known() -> None:
    found = printed_environment(
        "$ echo $CUDA_VISIBLE_DEVICES\nNoDevFiles\n$ echo ${LD_LIBRARY_PATH}\n/usr/local/cuda/lib64\n"
    )
    assert found.cuda_visible_devices == "NoDevFiles"
    assert found.environment["LD_LIBRARY_PATH"] == "/usr/local/cuda/lib64"
    assert printed_environment("$ echo $CUDA_VISIBLE_DEVICES\n$ ls").cuda_visible_devices is None
