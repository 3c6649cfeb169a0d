from typing import Any

import msgspec
import pytest

from rigwise.records.evidence import Quote, Status
from rigwise.records.gpu import Gpu
from rigwise.records.host import Host
from rigwise.records.reading import Reading
from rigwise.records.rig import PciDevice, Rig
from rigwise.records.software import Framework, Interpreter
from rigwise.report.causes import absence_words
from rigwise.report.rig_text import rig_lines

GIB = 2**30


def read(value: Any) -> Reading[Any]:
    return Reading("", value, Status.OK, Quote("", ""))


def unread(status: Status, words: str = "", code: int | None = None) -> Reading[Any]:
    return Reading("", None, status, Quote("", words), code)


def filled(kind: type[Any], **values: Any) -> Any:
    """A record whose other readings are absent."""
    absent = {field.name: unread(Status.NOT_RECORDED) for field in msgspec.structs.fields(kind)}
    return kind(**(absent | values))


def gpu(index: int = 0, **values: Any) -> Gpu:
    card = {
        "index": index,
        "reachable": read(True),
        "name": read("NVIDIA GeForce RTX 4090"),
        "memory_total_bytes": read(24 * GIB),
        "memory_used_bytes": read(GIB // 2),
        "temperature_celsius": read(41),
    }
    return filled(Gpu, **(card | values))


def rig(**values: Any) -> Rig:
    host = filled(Host, os_name=read("Ubuntu 24.04"), num_cpus=read(16), ram_total_bytes=read(64 * GIB))
    machine = {
        "nvml": read("12.570"),
        "num_gpus": read(1),
        "gpus": (gpu(),),
        "driver_version": read("570.124.06"),
        "cuda_driver_version": read((12, 8)),
        "host": host,
        "interpreter": read(Interpreter(executable="python3", version="3.11.9")),
        "hung": (),
    }
    return filled(Rig, **(machine | values))


def test_a_healthy_rig_in_four_lines() -> None:
    torch = Framework(name="torch", version="2.9.1", cuda_build="12.8", cpu_only=False, device_count=1)
    interpreter = read(Interpreter(executable="python3", version="3.11.9", frameworks=(torch,)))
    assert rig_lines(rig(interpreter=interpreter)) == (
        "GPU 0: GeForce RTX 4090, 24.0 GiB VRAM (512 MiB used), 41 °C",
        "driver 570.124.06, CUDA up to 12.8",
        "Ubuntu 24.04, 16 CPUs, RAM 64.0 GiB",
        "Python 3.11.9, torch 2.9.1 (CUDA 12.8, sees 1 GPU)",
    )


def without_gpus(absent: Reading[Any], **values: Any) -> tuple[str, ...]:
    return rig_lines(rig(gpus=(), nvml=absent, num_gpus=absent, driver_version=absent, **values))


@pytest.mark.parametrize(
    ("status", "code", "state"),
    [
        (Status.FAILED, 9, "driver not loaded"),
        (Status.NOT_FOUND, 12, "driver not installed"),
        (Status.FAILED, 18, "driver library and kernel module differ"),
        (Status.NOT_PERMITTED, 4, "driver closed to this user"),
        (Status.FAILED, 77, "driver the question failed"),
    ],
)
def test_no_gpu_says_why_in_plain_words(status: Status, code: int, state: str) -> None:
    lines = without_gpus(unread(status, "Words of NVML (NVML_ERROR_SOMETHING)", code))
    assert lines[:2] == (f"no NVIDIA GPU: {state}", state)


def test_a_card_without_a_driver_is_not_called_absent() -> None:
    card = PciDevice(address="01:00.0", device_id="10de:2684", driver="")
    not_installed = unread(Status.NOT_FOUND, code=12)
    assert without_gpus(not_installed, pci_gpus=read((card,)))[0] == "no usable NVIDIA GPU: driver not installed"
    assert without_gpus(not_installed, pci_gpus=read(()))[0] == "no NVIDIA GPU: none on the PCI bus"


@pytest.mark.parametrize("status", [Status.NOT_RECORDED, Status.TIMED_OUT, Status.UNREADABLE])
def test_gpus_nobody_could_ask_for_are_not_called_absent(status: Status) -> None:
    assert without_gpus(unread(status))[0] == f"GPUs: {absence_words(status)}"


def test_a_driver_that_lists_no_gpu_is_said() -> None:
    assert rig_lines(rig(gpus=(), num_gpus=read(0)))[0] == "no NVIDIA GPU: the driver lists none"


def test_a_lost_gpu_is_named_beside_the_healthy_one_within_80_columns() -> None:
    lost = gpu(1, reachable=unread(Status.LOST, "GPU is lost"))
    line = rig_lines(rig(gpus=(gpu(), lost)))[0]
    assert line == "GPU 0: GeForce RTX 4090, 24.0 GiB VRAM (512 MiB used), 41 °C; GPU 1: lost"
    assert len(f"  {line}") <= 80


def test_eight_gpus_are_grouped_and_the_lost_one_named() -> None:
    cards = [
        gpu(index, temperature_celsius=read(30 + index), memory_used_bytes=read(index * GIB)) for index in range(7)
    ]
    lost = gpu(7, reachable=unread(Status.LOST))
    assert rig_lines(rig(gpus=(*cards, lost)))[0] == (
        "7 x GeForce RTX 4090, 24.0 GiB VRAM (0 MiB to 6.00 GiB used), 30 to 36 °C; GPU 7: lost"
    )


def test_an_absent_value_says_why_and_is_never_a_zero() -> None:
    card = gpu(memory_used_bytes=unread(Status.NOT_PERMITTED), temperature_celsius=unread(Status.NOT_SUPPORTED))
    assert rig_lines(rig(gpus=(card,)))[0] == (
        "GPU 0: GeForce RTX 4090, 24.0 GiB VRAM, used not permitted, temperature not supported"
    )


def test_a_module_that_differs_from_the_library_is_shown() -> None:
    assert "kernel module 565.1" in rig_lines(rig(kernel_driver_version=read("565.1")))[1]
    assert "kernel module" not in rig_lines(rig(kernel_driver_version=read("570.124.06")))[1]


def test_the_container_is_named_with_the_system() -> None:
    host = filled(Host, os_name=read("Ubuntu 24.04"), container=read("docker"))
    assert rig_lines(rig(host=host))[2].startswith("Ubuntu 24.04 in docker, ")


def test_what_a_framework_sees() -> None:
    frameworks = (
        Framework(name="torch", version="2.9.1+cpu", cpu_only=True),
        Framework(name="jax", version="0.7", error="libcudnn.so.9: cannot open"),
        Framework(name="tensorflow", version="2.20", cpu_only=False, cuda_available=False, error="CUDA unknown error"),
        Framework(name="torch", version="2.9", cuda_available=True, error="no kernel image is available"),
    )
    line = rig_lines(rig(interpreter=read(Interpreter(executable="p", version="3.11", frameworks=frameworks))))[3]
    assert line == (
        "Python 3.11, torch 2.9.1+cpu (CPU only), jax 0.7 (cannot be imported), tensorflow 2.20 (sees no GPU), "
        "torch 2.9 (fails on the GPU)"
    )


def test_a_rig_nobody_could_read_still_has_four_lines() -> None:
    lines = rig_lines(filled(Rig, gpus=(), host=filled(Host), hung=()))
    assert len(lines) == 4
    assert all("not recorded" in line for line in lines)
