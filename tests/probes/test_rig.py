"""A whole rig from recordings: every answer absent, a hang, NVML against XML."""

from pathlib import Path
from typing import Any

from checks.overlay import Case, OverlaySource

from rigwise.probes.gpu.gpus_from_nvml import MOST_GPUS
from rigwise.probes.rig import read_rig
from rigwise.records.evidence import Evidence, Status
from rigwise.records.finding import Verdict
from rigwise.records.rig import Rig
from rigwise.sources.recorded import RecordedSource

RECORDINGS = Path(__file__).parents[1] / "recordings"


def rig_of(name: str | None, **changes: Any) -> Rig:
    return read_rig(OverlaySource(Case(why="", expect=Verdict.OK, recording=name, **changes)))


def test_nothing_is_known_of_an_empty_source() -> None:
    rig = rig_of(None)
    readings = [rig.nvml, rig.num_gpus, rig.driver_version, rig.pci_gpus, rig.interpreter, rig.kernel_log]
    readings += [rig.host.container, rig.host.ram_total_bytes, rig.host.secure_boot, rig.host.swap_used_bytes]
    assert {reading.status for reading in readings} == {Status.NOT_RECORDED}
    assert rig.gpus == ()
    assert rig.collected_on == ""


def test_a_healthy_desktop_is_read_in_full() -> None:
    rig = rig_of("healthy_rtx4090")
    (gpu,) = rig.gpus
    assert gpu.label == "GPU 0 (NVIDIA GeForce RTX 4090, 0000:01:00.0)"
    assert gpu.compute_capability.value == (8, 9)
    assert gpu.memory_total_bytes.value == 25757220864
    assert gpu.gpu_utilization_ratio.value == 0
    assert gpu.memory_utilization_ratio.value == 0.02
    assert gpu.power_draw_watts.value == 18.52
    assert gpu.mig_enabled.status is Status.NOT_SUPPORTED
    assert [process.pid for process in gpu.processes.value] == [2165, 2620]
    assert rig.cuda_driver_version.value == (12, 8)
    assert rig.kernel_driver_version.value == "570.124.06"
    assert [device.driver for device in rig.pci_gpus.value] == ["nvidia"]
    assert rig.host.container.value == "none"
    assert rig.host.num_cpus.value == 16
    assert rig.host.swap_used_bytes.value == 0
    assert rig.interpreter.value.frameworks[0].cuda_build == "12.8"


def test_a_damaged_count_of_gpus_does_not_make_it_ask_for_ever() -> None:
    rig = rig_of("healthy_rtx4090", nvml={"DeviceGetCount": "99999999999"})
    assert rig.num_gpus.value == 99_999_999_999
    assert len(rig.gpus) == MOST_GPUS


def test_processes_are_named_from_proc() -> None:
    files = {
        "/proc/2165/comm": "gnome-shell\n",
        "/proc/2165/status": "Name:\tgnome-shell\nUid:\t1000\t1000\t1000\t1000\n",
        "/etc/passwd": "ada:x:1000:1000::/home/ada:/bin/sh\n",
        "/proc/2620/comm": {"status": "not_found"},
    }
    first, second = rig_of("healthy_rtx4090", files=files).gpus[0].processes.value
    assert (first.name, first.user) == ("gnome-shell", "ada")
    assert second.name == ""


def test_only_the_processes_of_the_gpu_are_asked_about() -> None:
    asked: list[str] = []

    class Watched(RecordedSource):
        def file(self, path: str) -> Evidence:
            asked.append(path)
            return super().file(path)

    read_rig(Watched(RECORDINGS / "healthy_rtx4090"))
    of_processes = {path.split("/")[2] for path in asked if path.startswith("/proc/")}
    assert {name for name in of_processes if name.isdigit()} == {"2165", "2620", "1"}


def test_a_gpu_without_a_handle_is_absent_for_that_reason_everywhere() -> None:
    lost = rig_of("one_of_two_lost").gpus[1]
    assert lost.reachable.status is Status.LOST
    assert {lost.temperature_celsius.status, lost.name.status, lost.processes.status} == {Status.LOST}
    assert lost.reachable.return_code == 15


def test_a_hang_is_named_once_for_nvml() -> None:
    rig = rig_of("hung_driver", commands={"framework-probe": {"status": "timed_out"}})
    assert [reading.quote.source for reading in rig.hung] == ["NVML DeviceGetTemperature gpu 0", "$ framework-probe"]
    assert rig.gpus[0].name.present
    assert rig.gpus[0].power_draw_watts.status is Status.TIMED_OUT


def test_the_date_is_that_of_the_evidence() -> None:
    assert rig_of("healthy_rtx4090", collected_at="2025-03-01T10:00:00Z").collected_on == "2025-03-01"


def test_nonsense_is_unreadable_and_never_a_value() -> None:
    nonsense = {"0/DeviceGetTemperature": "warm", "0/DeviceGetMemoryInfo": "total=x", "SystemGetCudaDriverVersion": ""}
    files = {"/proc/meminfo": "MemTotal: many kB\n", "/proc/bus/pci/devices": "zz\tq\n", "/proc/pressure/memory": "?"}
    rig = rig_of("healthy_rtx4090", nvml=nonsense, files=files, commands={"framework-probe": '{"version": 3}\n'})
    gpu = rig.gpus[0]
    readings = [gpu.temperature_celsius, gpu.memory_total_bytes, gpu.memory_used_bytes, rig.cuda_driver_version]
    readings += [rig.host.ram_total_bytes, rig.pci_gpus, rig.host.memory_pressure_ratio, rig.interpreter]
    assert {reading.status for reading in readings} == {Status.UNREADABLE}


def test_secure_boot_is_read_from_the_firmware_or_mokutil() -> None:
    variable = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
    assert rig_of("healthy_rtx4090", files={variable: "\x06\0\0\0\x01"}).host.secure_boot.value is True
    hidden = {variable: {"status": "not_found"}}
    told = rig_of("healthy_rtx4090", files=hidden, commands={"mokutil --sb-state": "SecureBoot disabled\n"})
    assert told.host.secure_boot.value is False
    assert rig_of("healthy_rtx4090", files=hidden).host.secure_boot.value is None
