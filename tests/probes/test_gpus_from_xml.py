"""`nvidia-smi -q -x` of every generation; the captures themselves are judged in tests/checks/test_captures.py."""

from pathlib import Path

import pytest

from rigwise.probes.gpu.gpus_from_smi import SmiAnswers
from rigwise.records.evidence import Evidence, Status
from rigwise.records.gpu import Gpu


def log_of(text: str, status: Status = Status.OK) -> SmiAnswers:
    return SmiAnswers([Evidence(source="command", key="nvidia-smi -q -x", status=status, text=text)])


def gpu_of(body: str) -> Gpu:
    (gpu,) = log_of(f'<nvidia_smi_log><gpu id="00000000:41:00.0">{body}</gpu></nvidia_smi_log>').gpus
    return gpu


def capture(shared: Path, name: str) -> SmiAnswers:
    return log_of((shared / "evidence" / f"{name}.xml").read_text(encoding="utf-8"))


def test_old_names() -> None:
    gpu = gpu_of(
        "<power_readings><power_draw>26.78 W</power_draw><enforced_power_limit>70.00 W</enforced_power_limit>"
        "<default_power_limit>75.00 W</default_power_limit></power_readings>"
        "<clocks_throttle_reasons><clocks_throttle_reason_sw_power_cap>Active</clocks_throttle_reason_sw_power_cap>"
        "<clocks_throttle_reason_gpu_idle>Not Active</clocks_throttle_reason_gpu_idle></clocks_throttle_reasons>"
        "<temperature><gpu_temp_slow_threshold>93 C</gpu_temp_slow_threshold></temperature>"
    )
    assert gpu.power_draw_watts.value == 26.78
    assert gpu.power_limit_enforced_watts.value == 70
    assert gpu.power_limit_default_watts.value == 75
    assert gpu.clocks_event_reasons.value == 0x4
    assert gpu.temperature_slowdown_celsius.value == 93


def test_new_names() -> None:
    gpu = gpu_of(
        "<gpu_power_readings><average_power_draw>N/A</average_power_draw><instant_power_draw>49.68 W"
        "</instant_power_draw><current_power_limit>400.00 W</current_power_limit></gpu_power_readings>"
        "<clocks_event_reasons>"
        "<clocks_event_reason_hw_thermal_slowdown>Active</clocks_event_reason_hw_thermal_slowdown>"
        "<clocks_event_reason_hw_slowdown>Active</clocks_event_reason_hw_slowdown></clocks_event_reasons>"
        "<temperature><gpu_temp>38 C</gpu_temp><gpu_temp_tlimit>49 C</gpu_temp_tlimit>"
        "<gpu_temp_slow_tlimit_threshold>-2 C</gpu_temp_slow_tlimit_threshold></temperature>"
    )
    assert gpu.power_draw_watts.value == 49.68
    assert gpu.power_limit_enforced_watts.value == 400
    assert gpu.clocks_event_reasons.value == 0x48
    assert gpu.temperature_slowdown_celsius.value == 89


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("N/A", Status.NOT_SUPPORTED),
        ("[N/A]", Status.NOT_SUPPORTED),
        ("Requested functionality has been deprecated", Status.NOT_SUPPORTED),
        ("GPU is lost", Status.LOST),
        ("[GPU requires reset]", Status.FAILED),
        ("[Insufficient Permissions]", Status.NOT_PERMITTED),
        ("ERR!", Status.FAILED),
        ("[Unknown Error]", Status.FAILED),
        ("warm", Status.UNREADABLE),
    ],
)
def test_texts_in_place_of_a_value(text: str, status: Status) -> None:
    gpu = gpu_of(f"<temperature><gpu_temp>{text}</gpu_temp></temperature>")
    assert gpu.temperature_celsius.status is status
    assert gpu.temperature_celsius.value is None


def test_clock_events_without_an_answer_are_not_none_active() -> None:
    assert gpu_of("<clocks_throttle_reasons>N/A</clocks_throttle_reasons>").clocks_event_reasons.status is (
        Status.NOT_SUPPORTED
    )
    odd = "<clocks_event_reasons><clocks_event_reason_gpu_idle>GPU is lost</clocks_event_reason_gpu_idle>"
    assert gpu_of(f"{odd}</clocks_event_reasons>").clocks_event_reasons.status is Status.LOST


def test_a_missing_element_is_not_recorded() -> None:
    gpu = gpu_of("")
    absent = [value for name in gpu.__struct_fields__ if getattr(value := getattr(gpu, name), "value", 0) is None]
    assert {reading.status for reading in absent} == {Status.NOT_RECORDED}
    assert gpu.pci_bus_id.value == "0000:41:00.0"


def test_one_lost_value_makes_the_gpu_lost_and_is_quoted() -> None:
    gpu = gpu_of("<product_name>X</product_name><utilization><gpu_util>GPU is lost</gpu_util></utilization>")
    assert gpu.reachable.status is Status.LOST
    assert gpu.reachable.quote.text == "gpu_util: GPU is lost"
    assert gpu.name.value == "X"


def test_processes() -> None:
    gpu = gpu_of(
        "<processes><process_info><pid>7</pid><type>M+C</type><process_name>/opt/app/app --x=1</process_name>"
        "<used_memory>160 MiB</used_memory></process_info><process_info><pid>8</pid><type>C+G</type>"
        "<process_name>C:\\Windows\\dwm.exe</process_name><used_memory>N/A</used_memory></process_info></processes>"
    )
    first, second = gpu.processes.need()
    assert (first.name, first.kind, first.used_bytes) == ("app", "compute", 160 * 2**20)
    assert (second.name, second.kind, second.used_bytes) == ("dwm.exe", "graphics", None)
    assert gpu_of("<processes>N/A</processes>").processes.status is Status.NOT_SUPPORTED
    assert gpu_of("<processes/>").processes.value == ()
    broken = gpu_of("<processes><process_info><pid>seven</pid></process_info></processes>")
    assert broken.processes.status is Status.UNREADABLE


def test_text_around_the_log_is_ignored() -> None:
    log = log_of(
        "$ nvidia-smi -q -x\n<nvidia_smi_log><driver_version>570.1</driver_version></nvidia_smi_log>\n$ exit\n"
    )
    assert log.driver_version().value == "570.1"


def test_the_names_of_driver_610() -> None:
    log = log_of(
        "<nvidia_smi_log><kmd_version>610.88</kmd_version><cuda_umd_version>13.3</cuda_umd_version></nvidia_smi_log>"
    )
    assert log.driver_version().value == "610.88"
    assert log.cuda_driver_version().value == (13, 3)


@pytest.mark.parametrize(
    ("text", "code", "status"),
    [
        (
            "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.161",
            18,
            Status.FAILED,
        ),
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", 9, Status.FAILED),
        ("No devices were found", 6, Status.NOT_FOUND),
        ("Failed to initialize NVML: Unknown Error", 999, Status.FAILED),
        ("Failed to initialize NVML: Insufficient Permissions", 4, Status.NOT_PERMITTED),
        ("Failed to initialize NVML: GPU access blocked by the operating system", 17, Status.NOT_PERMITTED),
        ("NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.", 12, Status.NOT_FOUND),
    ],
)
def test_a_failure_of_nvidia_smi_is_nvml_s(text: str, code: int, status: Status) -> None:
    reading = log_of(text, Status.FAILED).num_gpus()
    assert (reading.return_code, reading.status) == (code, status)


def test_a_date_of_the_log(shared: Path) -> None:
    assert capture(shared, "smi_rtx4000sff_ada_595").taken_on() == "2026-08-06"
    assert log_of("<nvidia_smi_log></nvidia_smi_log>").taken_on() == ""


@pytest.mark.parametrize(
    ("name", "driver", "cuda", "num_gpus", "used_mib", "temperature", "slowdown", "draw", "limit"),
    [
        ("smi_a100_570", "570.148.08", (12, 8), 1, 0, 33, 89, 49.68, 400.0),
        ("smi_a100_mig_535", "535.54.03", (12, 2), 4, 50, 27, 89, 67.03, 500.0),
        ("smi_gb200x4_grace", "580.173.02", (13, 0), 4, 0, 27, 89, 165.93, 1200.0),
        ("smi_gtx1070ti_oldschema", None, None, 1, 42, 39, None, None, None),
        ("smi_quadro_p400_418", "418.43", (10, 1), 1, 0, 33, 100, None, None),
        ("smi_rtx3080_passthrough_536", "536.40", (12, 2), 1, 1128, 31, 95, 22.78, 336.0),
        ("smi_rtx4000sff_ada_595", "595.84", (13, 2), 1, 3534, 38, 89, 8.44, 70.0),
        ("smi_t4_595_1ce", "595.91.07", (13, 2), 1, 0, 33, 93, 33.51, 70.0),
        ("smi_t4_vm_515", "515.105.01", (11, 7), 1, 1032, 40, 93, 26.78, 70.0),
    ],
)
def test_captures(
    shared: Path,
    name: str,
    driver: str | None,
    cuda: tuple[int, int] | None,
    num_gpus: int,
    used_mib: int,
    temperature: int,
    slowdown: int | None,
    draw: float | None,
    limit: float | None,
) -> None:
    log = capture(shared, name)
    gpu = log.gpus[0]
    assert (log.driver_version().value, log.cuda_driver_version().value, log.num_gpus().value) == (
        driver,
        cuda,
        num_gpus,
    )
    assert gpu.memory_used_bytes.value == used_mib * 2**20
    assert (gpu.temperature_celsius.value, gpu.temperature_slowdown_celsius.value) == (temperature, slowdown)
    assert (gpu.power_draw_watts.value, gpu.power_limit_enforced_watts.value) == (draw, limit)


def test_a_log_that_was_cut_short_keeps_what_it_holds() -> None:
    whole = "<nvidia_smi_log><attached_gpus>2</attached_gpus><gpu id='00000000:41:00.0'><uuid>GPU-1</uuid><pci>"
    for rest in ("", "<pci_bus", "<pci_bus_id>00000000:41:", "<pci_bus_id>x</pci_bus_id></pci><name>"):
        log = log_of(whole + rest)
        assert (log.num_gpus().value, len(log.gpus), log.gpus[0].uuid.value) == (2, 1, "GPU-1")


def test_two_logs_of_one_machine_are_one_machine() -> None:
    log = (
        "<nvidia_smi_log><timestamp>{}</timestamp><gpu id='00000000:41:00.0'><uuid>GPU-1</uuid><utilization><gpu_util>"
    )
    log += "{} %</gpu_util></utilization><pci><pci_gpu_link_info><pcie_gen><current_link_gen>{}</current_link_gen>"
    log += "</pcie_gen></pci_gpu_link_info></pci></gpu></nvidia_smi_log>\n"
    idle, busy = log.format("Mon Jun 22 23:04:18 2026", 0, 1), log.format("Mon Jun 22 23:09:18 2026", 98, 4)
    for text in (idle + busy, busy + idle):
        (gpu,) = log_of(text).gpus
        assert (gpu.gpu_utilization_ratio.value, gpu.pcie_link_gen.value) == (0.98, 4)


def test_an_unescaped_sign_does_not_hide_the_rest() -> None:
    gpu = gpu_of(
        "<processes><process_info><pid>7</pid><type>C</type><process_name>a&b</process_name>"
        "<used_memory>160 MiB</used_memory></process_info></processes>"
    )
    assert [process.name for process in gpu.processes.need()] == ["a&b"]


def test_errors_in_the_old_layout_and_the_new_one() -> None:
    old = gpu_of(
        "<ecc_errors><volatile><double_bit><device_memory>1</device_memory><total>2</total></double_bit>"
        "</volatile></ecc_errors><retired_pages><double_bit_retirement><retired_count>3</retired_count>"
        "</double_bit_retirement><pending_blacklist>Yes</pending_blacklist></retired_pages>"
    ).memory_errors
    assert (old.uncorrected_volatile.value, old.retired_pages_double_bit.value) == (2, 3)
    assert old.retired_pages_pending.value is True
    new = gpu_of(
        "<ecc_errors><volatile><sram_uncorrectable_parity>1</sram_uncorrectable_parity>"
        "<sram_uncorrectable_secded>2</sram_uncorrectable_secded><dram_uncorrectable>4</dram_uncorrectable>"
        "</volatile></ecc_errors><remapped_rows>N/A</remapped_rows>"
    ).memory_errors
    assert new.uncorrected_volatile.value == 7
    assert new.row_remap_failure.status is Status.NOT_SUPPORTED
