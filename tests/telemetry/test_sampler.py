"""The sampler against a source whose GPUs answer what the test says."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from rigwise.knowledge.metrics import load_metrics
from rigwise.records.evidence import Evidence, Status
from rigwise.records.run import RunRecord, Sample
from rigwise.telemetry.reading import load_run
from rigwise.telemetry.sampler import Sampler
from rigwise.telemetry.writer import RunWriter

HEALTHY = {
    "DeviceGetUtilizationRates": "gpu=83 memory=41",
    "DeviceGetMemoryInfo": "total=25757220864 reserved=400000000 free=20000000000 used=5357220864",
    "DeviceGetPowerUsage": "317500",
    "DeviceGetTemperature": "69",
    "DeviceGetClockInfo.sm": "2520",
    "DeviceGetCurrentClocksEventReasons": "4",
}
IN_UNITS = {
    "gpu_utilization_ratio": 0.83,
    "memory_utilization_ratio": 0.41,
    "memory_used_bytes": 5357220864,
    "power_draw_watts": 317.5,
    "temperature_celsius": 69,
    "sm_clock_mhz": 2520,
    "clocks_event_reasons": 4,
}


class Gpus:
    """A source with GPUs `GPU-0`, `GPU-1` ... Only NVML answers; `answer` may replace or delay any of it."""

    name = "a test"

    def __init__(self, count: int, answer: Callable[[str, int], Evidence | None] = lambda name, gpu: None) -> None:
        self.asked: list[tuple[str, int | None]] = []
        self._count = count
        self._answer = answer

    def nvml(self, name: str, gpu: int | None = None) -> Evidence:
        self.asked.append((name, gpu))
        if gpu is None:
            return good(str(self._count))
        return self._answer(name, gpu) or good(HEALTHY.get(name, f"GPU-{gpu}"))

    def command(self, argv: Sequence[str], *, key: str | None = None, timeout_seconds: float = 10.0) -> Evidence:
        raise AssertionError("the sampler must not start programs")

    def file(self, path: str) -> Evidence:
        raise AssertionError(path)

    def program_output(self) -> Evidence:
        raise AssertionError("the sampler must not ask for program output")

    def kernel_log(self) -> Evidence:
        raise AssertionError("the sampler must not read the kernel log")


def good(text: str) -> Evidence:
    return Evidence(source="nvml", key="", status=Status.OK, text=text, return_code=0)


def bad(status: Status, text: str = "") -> Evidence:
    return Evidence(source="nvml", key="", status=status, text=text)


def sampled(folder: Path, source: Gpus, seconds: float, *, slow_seconds: float = 5.0) -> RunRecord:
    with RunWriter(folder / "run.sqlite") as writer, Sampler(source, writer, hz=50, slow_seconds=slow_seconds):
        time.sleep(seconds)
    return load_run(folder)


def of(samples: Sequence[Sample], target: str) -> dict[str, float]:
    return {sample.metric: sample.value for sample in samples if sample.target == target}


def test_b80_gpu_metrics_arrive_in_their_units(tmp_path: Path) -> None:
    run = sampled(tmp_path, Gpus(2), 0.3)
    assert of(run.samples, "GPU-0") == pytest.approx(IN_UNITS)
    assert of(run.samples, "GPU-1") == pytest.approx(IN_UNITS)
    assert run.events == ()


def test_every_metric_of_the_table_is_sampled_and_no_other(tmp_path: Path) -> None:
    run = sampled(tmp_path, Gpus(1), 0.5)
    kinds = {"GPU-0": "gpu", "host": "host", "process": "process"}
    found = {(sample.metric, kinds.get(sample.target, sample.target.rstrip("0123456789"))) for sample in run.samples}
    optional = {("disk_read_bytes_per_second", "host"), ("disk_write_bytes_per_second", "host")}  # no disk, no rates
    assert found | optional == {(metric.name, metric.target) for metric in load_metrics().values()}


def test_host_values_are_plausible(tmp_path: Path) -> None:
    run = sampled(tmp_path, Gpus(0), 0.5)
    process, host = of(run.samples, "process"), of(run.samples, "host")
    assert 10e6 < process["process_rss_bytes"] < 10e9
    assert host["ram_available_bytes"] > 10e6
    assert 0 < process["sampler_tick_seconds"] < 0.5
    ratios = [sample.value for sample in run.samples if sample.metric == "cpu_utilization_ratio"]
    assert ratios
    assert all(0 <= ratio <= 1 for ratio in ratios)


def test_a_busy_child_counts_as_this_run(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as child:
        with RunWriter(tmp_path / "run.sqlite") as writer, Sampler(Gpus(0), writer, hz=5):
            time.sleep(1.5)
        child.kill()
    cores = [sample.value for sample in load_run(tmp_path).samples if sample.metric == "process_cpu_cores"]
    assert 0.3 < sum(cores) / len(cores) < 1.5


def test_samples_carry_the_time_of_the_run(tmp_path: Path) -> None:
    run = sampled(tmp_path, Gpus(1), 0.4)
    times = [sample.at for sample in run.samples if sample.metric == "temperature_celsius"]
    assert times == sorted(times)
    assert 0 < times[0] < 0.2
    assert times[-1] < 0.6


def test_a_value_that_is_missing_is_absent_and_not_asked_again(tmp_path: Path) -> None:
    source = Gpus(1, lambda name, gpu: bad(Status.NOT_SUPPORTED) if name == "DeviceGetPowerUsage" else None)
    run = sampled(tmp_path, source, 0.3)
    assert "power_draw_watts" not in of(run.samples, "GPU-0")
    assert source.asked.count(("DeviceGetPowerUsage", 0)) == 1
    assert source.asked.count(("DeviceGetTemperature", 0)) > 3


@pytest.mark.parametrize("garbage", ["", "N/A", "gpu=", "memory=41"])
def test_an_answer_that_cannot_be_understood_is_absent(tmp_path: Path, garbage: str) -> None:
    source = Gpus(1, lambda name, gpu: good(garbage) if name == "DeviceGetUtilizationRates" else None)
    run = sampled(tmp_path, source, 0.2)
    assert "gpu_utilization_ratio" not in of(run.samples, "GPU-0")
    assert of(run.samples, "GPU-0")["temperature_celsius"] == 69


def test_a_lost_gpu_is_one_event_and_the_other_goes_on(tmp_path: Path) -> None:
    lost = bad(Status.LOST, "GPU is lost (NVML_ERROR_GPU_IS_LOST)")
    source = Gpus(2, lambda name, gpu: lost if gpu == 1 and name != "DeviceGetUUID" else None)
    run = sampled(tmp_path, source, 0.4)
    assert [(event.kind, event.text) for event in run.events] == [
        ("gpu_lost", "GPU 1 stopped answering: GPU is lost (NVML_ERROR_GPU_IS_LOST)")
    ]
    assert of(run.samples, "GPU-1") == {}
    assert of(run.samples, "GPU-0") == pytest.approx(IN_UNITS)
    questions = [name for name, gpu in source.asked if gpu == 1 and name != "DeviceGetUUID"]
    assert len(questions) == 1


def test_a_gpu_that_comes_back_is_sampled_again(tmp_path: Path) -> None:
    answers = 0

    def lost_for_a_while(name: str, gpu: int) -> Evidence | None:
        nonlocal answers
        answers += 1
        return bad(Status.LOST, "GPU is lost") if 20 < answers < 24 else None

    run = sampled(tmp_path, Gpus(1, lost_for_a_while), 1.0, slow_seconds=0.1)
    assert [event.kind for event in run.events] == ["gpu_lost", "gpu_back"]
    assert any(sample.at > run.events[1].at for sample in run.samples if sample.target == "GPU-0")


def test_a_gpu_that_never_answered_is_not_asked_again(tmp_path: Path) -> None:
    source = Gpus(2, lambda name, gpu: bad(Status.LOST) if gpu == 1 else None)
    run = sampled(tmp_path, source, 0.2)
    assert [question for question in source.asked if question[1] == 1] == [("DeviceGetUUID", 1)]
    assert run.events == ()


def test_without_a_driver_the_host_is_still_sampled(tmp_path: Path) -> None:
    class NoDriver(Gpus):
        def nvml(self, name: str, gpu: int | None = None) -> Evidence:
            return bad(Status.NOT_FOUND, "NVML Shared Library Not Found")

    run = sampled(tmp_path, NoDriver(0), 0.3)
    assert of(run.samples, "host")
    assert {sample.metric for sample in run.samples if sample.target.startswith("GPU")} == set()


def test_it_stops_within_a_second_though_the_driver_hangs(tmp_path: Path) -> None:
    driver_recovers = threading.Event()

    def hang(name: str, gpu: int) -> Evidence | None:
        if name == "DeviceGetTemperature":
            driver_recovers.wait(30)
        return None

    with RunWriter(tmp_path / "run.sqlite") as writer:
        sampler = Sampler(Gpus(1, hang), writer, hz=50)
        sampler.start()
        time.sleep(0.2)
        began = time.monotonic()
        sampler.stop()
        assert time.monotonic() - began < 1.5
    driver_recovers.set()
    assert [event.kind for event in load_run(tmp_path).events] == ["sampler"]


def test_it_stops_at_once_when_nothing_hangs(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "run.sqlite") as writer:
        sampler = Sampler(Gpus(1), writer, hz=0.1)
        sampler.start()
        began = time.monotonic()
        sampler.stop()
        assert time.monotonic() - began < 0.5
