"""The table of nvidia-smi in the layouts of eleven years, as people paste it; each sample names where it is from."""

import pytest

from rigwise.probes.gpu.gpus_from_smi import SmiAnswers
from rigwise.records.evidence import Evidence, Status
from rigwise.records.gpu import Gpu

MIB = 2**20


def answers(text: str, key: str = "nvidia-smi") -> SmiAnswers:
    return SmiAnswers([Evidence(source="command", key=key, status=Status.OK, text=text)])


def state(gpu: Gpu) -> tuple[object, ...]:
    used, total = gpu.memory_used_bytes.value, gpu.memory_total_bytes.value
    return (
        gpu.name.value,
        gpu.pci_bus_id.value,
        gpu.temperature_celsius.value,
        gpu.power_draw_watts.value,
        gpu.power_limit_enforced_watts.value,
        None if used is None else used // MIB,
        None if total is None else total // MIB,
        gpu.gpu_utilization_ratio.value,
    )


DRIVER_340 = """
Fri Oct  7 13:33:19 2016
+------------------------------------------------------+
| NVIDIA-SMI 340.98     Driver Version: 340.98         |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|===============================+======================+======================|
|   0  GeForce 210         Off  | 0000:07:00.0     N/A |                  N/A |
| 35%   47C    P0    N/A /  N/A |      2MiB /  1023MiB |     N/A      Default |
+-------------------------------+----------------------+----------------------+
+-----------------------------------------------------------------------------+
| Compute processes:                                               GPU Memory |
|  GPU       PID  Process name                                     Usage      |
|=============================================================================|
|    0            Not Supported                                               |
+-----------------------------------------------------------------------------+
"""
"""An installation note for a GeForce 210 (public repository, 2016)."""
DRIVER_361 = """
Thu Apr 13 19:14:50 2017
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 361.93.02              Driver Version: 361.93.02                 |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|===============================+======================+======================|
|   0  GeForce GTX 980 Ti  On   | 0000:01:00.0      On |                  N/A |
| 53%   83C    P2   255W / 250W |   5621MiB /  6083MiB |     93%      Default |
+-------------------------------+----------------------+----------------------+

+-----------------------------------------------------------------------------+
| Processes:                                                       GPU Memory |
|  GPU       PID  Type  Process name                               Usage      |
|=============================================================================|
|    0      2473    G   /usr/bin/X                                     134MiB |
|    0     19127    C   python train.py                               5480MiB |
+-----------------------------------------------------------------------------+
"""
"""A laboratory's notes on its machine (public repository, 2017); the second process added."""
SPACES_LOST = """
root@kali:~# nvidia-smi
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 375.26 Driver Version: 375.26 |
|-------------------------------+----------------------+----------------------+
| GPU Name Persistence-M| Bus-Id Disp.A | Volatile Uncorr. ECC |
| Fan Temp Perf Pwr:Usage/Cap| Memory-Usage | GPU-Util Compute M. |
|===============================+======================+======================|
| 0 Tesla K80 Off | 0000:00:1E.0 Off | 0 |
| N/A 28C P0 53W / 149W | 0MiB / 11439MiB | 65% Default |
+-------------------------------+----------------------+----------------------+
"""
"""The Kali Linux documentation, whose page lost the spaces."""
ERRORS = """
| NVIDIA-SMI 384.111                Driver Version: 384.111                   |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|===============================+======================+======================|
|   0  Quadro P1000        Off  | 00000000:65:00.0  On |                  N/A |
| 41%   53C    P0   ERR! /  N/A |    620MiB /  4035MiB |      0%      Default |
+-------------------------------+----------------------+----------------------+
|   1  Quadro M4000        Off  | 00000000:B3:00.0 Off |                  N/A |
| 46%   30C    P8    11W / 120W |      2MiB /  8121MiB |      0%      Default |
+-------------------------------+----------------------+----------------------+
"""
"""A book on TensorFlow.js that shows its author's machine."""
DRIVER_610 = """
Thu Aug 27 18:05:38 2026
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 610.57.04              KMD Version: 610.57.04     CUDA UMD Version: 13.3     |
+-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA GeForce RTX 3090        Off |   00000000:0A:00.0 Off |                  N/A |
|  0%   41C    P8             22W /  350W |       4MiB /  24576MiB |      0%      Default |
|                                         |                        |                  N/A |
+-----------------------------------------+------------------------+----------------------+
"""
"""In the form of driver 610, whose head is that of a public session log of August 2026."""


@pytest.mark.parametrize(
    ("text", "driver", "cuda", "expected"),
    [
        (DRIVER_340, "340.98", None, ("GeForce 210", "0000:07:00.0", 47, None, None, 2, 1023, None)),
        (DRIVER_361, "361.93.02", None, ("GeForce GTX 980 Ti", "0000:01:00.0", 83, 255.0, 250.0, 5621, 6083, 0.93)),
        (SPACES_LOST, "375.26", None, ("Tesla K80", "0000:00:1e.0", 28, 53.0, 149.0, 0, 11439, 0.65)),
        (ERRORS, "384.111", None, ("Quadro P1000", "0000:65:00.0", 53, None, None, 620, 4035, 0.0)),
        (
            DRIVER_610,
            "610.57.04",
            (13, 3),
            ("NVIDIA GeForce RTX 3090", "0000:0a:00.0", 41, 22.0, 350.0, 4, 24576, 0.0),
        ),
    ],
)
def test_every_layout(text: str, driver: str, cuda: tuple[int, int] | None, expected: tuple[object, ...]) -> None:
    smi = answers(text)
    assert state(smi.gpus[0]) == expected
    assert (smi.driver_version().value, smi.cuda_driver_version().value) == (driver, cuda)
    assert all(gpu.reachable.present for gpu in smi.gpus)


def test_values_that_are_none_say_why() -> None:
    gpu = answers(ERRORS).gpus[0]
    assert gpu.power_draw_watts.status is Status.FAILED
    assert gpu.power_limit_enforced_watts.status is Status.NOT_SUPPORTED
    assert gpu.sm_clock_mhz.status is Status.NOT_RECORDED
    assert answers(DRIVER_340).gpus[0].processes.status is Status.NOT_SUPPORTED


def test_processes_of_the_old_list_and_the_new_one() -> None:
    old = answers(DRIVER_361).gpus[0].processes.need()
    assert [(one.pid, one.name, one.kind, (one.used_bytes or 0) // MIB) for one in old] == [
        (2473, "X", "graphics", 134),
        (19127, "python train.py", "compute", 5480),
    ]
    listed = """
| Processes:                                                                              |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|    0   N/A  N/A            1696      G   /usr/bin/gnome-shell                    176MiB |
|    0    2    1            12267      C   [Not Found]                           13526MiB |
|    0   N/A  N/A           25704    C+G   ...1.1-full_build\\bin\\ffmpeg.exe      N/A      |
"""
    end = "+-----------------------------------------------------------------------------------------+\n"
    new = answers(DRIVER_610 + listed + end).gpus[0].processes.need()
    assert [(one.pid, one.name, one.used_bytes and one.used_bytes // MIB) for one in new] == [
        (1696, "gnome-shell", 176),
        (12267, "", 13526),
        (25704, "ffmpeg.exe", None),
    ]


@pytest.mark.parametrize("num_lines", [13, 15, 17, 18, 19])
def test_a_list_whose_end_is_not_seen_is_no_list(num_lines: int) -> None:
    """What is missing below must not pass for memory that nobody holds."""
    shortened = "\n".join((DRIVER_610 + DRIVER_361.partition("+\n\n")[2]).splitlines()[:num_lines])
    for gpu in answers(shortened).gpus:
        assert gpu.processes.status is Status.NOT_RECORDED


def test_no_process_at_all_is_an_answer() -> None:
    idle = DRIVER_610 + "\n| Processes: |\n|  GPU   GI   CI  PID   Type   Process name  GPU Memory |\n|=======|\n"
    idle += "|  No running processes found                                   |\n+------------------------------+\n"
    assert answers(idle).gpus[0].processes.value == ()


def test_columns_that_were_cut_off_are_not_recorded() -> None:
    gpu = answers("\n".join(line[:67] for line in DRIVER_610.splitlines())).gpus[0]
    assert gpu.gpu_utilization_ratio.status is Status.NOT_RECORDED
    assert gpu.memory_used_bytes.value == 4 * MIB


def test_without_borders() -> None:
    plain = "\n".join(line.strip("|+-=").replace("|", " ") for line in DRIVER_361.splitlines() if "--" not in line)
    smi = answers(plain)
    assert state(smi.gpus[0]) == state(answers(DRIVER_361).gpus[0])
    assert [one.pid for one in smi.gpus[0].processes.need()] == [2473, 19127]


def test_several_tables_are_one_machine_at_its_busiest() -> None:
    busy = DRIVER_610.replace("18:05:38", "18:06:38").replace("   0%      Default", "  98%      Default")
    for text in (DRIVER_610 + busy, busy + DRIVER_610):
        (gpu,) = answers(text).gpus
        assert gpu.gpu_utilization_ratio.value == 0.98


@pytest.mark.parametrize(
    ("line", "index", "address", "code"),
    [
        ("Unable to determine the device handle for GPU 0000:41:00.0: GPU is lost.", 0, "0000:41:00.0", 15),
        (
            "Unable to determine the device handle for GPU0: 0000:01:00.0: GPU is lost. Reboot the system to recover",
            0,
            "0000:01:00.0",
            15,
        ),
        ("Unable to determine the device handle for GPU1: 0000:34:00.0: Unknown Error", 1, "0000:34:00.0", 999),
        ("Unable to determine the device handle for GPU0000:CB:00.0: Unknown Error", 0, "0000:cb:00.0", 999),
        ("Unable to determine the device handle for GPU1: Unknown Error", 1, None, 999),
    ],
)
def test_a_gpu_that_cannot_be_opened(line: str, index: int, address: str | None, code: int) -> None:
    (gpu,) = answers(line).gpus
    assert (gpu.index, gpu.pci_bus_id.value, gpu.reachable.return_code) == (index, address, code)
    assert gpu.reachable.quote.text == line


def test_the_others_are_described_beside_one_that_cannot_be_opened() -> None:
    smi = answers("Unable to determine the device handle for GPU1: 0000:34:00.0: Unknown Error\n" + DRIVER_610)
    assert [gpu.reachable.present for gpu in smi.gpus] == [True, False]
    assert smi.num_gpus().value == 2


def test_the_last_word_counts() -> None:
    failure = "Failed to initialize NVML: Driver/library version mismatch\n"
    assert answers(DRIVER_610 + failure).num_gpus().return_code == 18
    assert answers(failure + DRIVER_610).num_gpus().value == 1


@pytest.mark.parametrize("text", ["", "|||||", "+" * 5000, "| 0 " * 4000, "NVIDIA-SMI 5" * 900, "\x00", "0 " * 50000])
def test_garbage_is_no_gpu(text: str) -> None:
    smi = answers(text)
    assert smi.gpus == ()
    assert not smi.num_gpus().present
