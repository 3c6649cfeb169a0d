"""The real nvidia-ml-py against the simulated library: process lists, advancing values, loss, hangs, old drivers."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_gpu import asking
from fake_gpu.asking import ask_everything
from fake_gpu.build import fake_library

from rigwise.knowledge.nvml_calls import nvml_calls
from rigwise.sources.nvml_codes import return_code
from rigwise.sources.recorded import RecordedSource

ASK = """
import json, sys
from rigwise.sources.live import LiveSource
source = LiveSource(nvml_limit_seconds=float(sys.argv[2]))
answers = [source.nvml(name, gpu) for name, gpu in json.loads(sys.argv[1])]
print(json.dumps([[answer.status, answer.return_code, answer.text, answer.duration_seconds] for answer in answers]))
"""
OPENED = "-\tInit\t0\t\n-\tDeviceGetCount\t0\t1\n0\tDeviceGetHandleByIndex\t0\t\n"


def ask(
    folder: Path, rows: str, *questions: tuple[str, int | None], limit_seconds: float = 10.0
) -> list[tuple[str, int | None, str, float]]:
    """What a live source in a process of its own answers on a GPU that behaves as `rows` say."""
    table = folder / "nvml.tsv"
    table.write_text(rows)
    environment = os.environ | {"RIGWISE_NVML_LIBRARY": str(fake_library()), "FAKE_NVML_TSV": str(table)}
    command = [sys.executable, "-c", ASK, json.dumps(questions), str(limit_seconds)]
    child = subprocess.run(command, env=environment, capture_output=True, timeout=30, check=True)
    return [tuple(answer) for answer in json.loads(child.stdout)]


@pytest.mark.parametrize("num_processes", [0, 1, 60])
def test_process_lists_of_any_length(num_processes: int, tmp_path: Path) -> None:
    listed = ";".join(f"pid={pid} used_bytes={pid * 2**30}" for pid in range(1, num_processes + 1))
    key = "DeviceGetComputeRunningProcesses"
    [answer] = ask(tmp_path, OPENED + f"0\t{key}\t0\t{listed}\n", (key, 0))
    assert answer[:3] == ("ok", 0, listed)


def test_a_process_whose_memory_the_driver_hides(tmp_path: Path) -> None:
    key = "DeviceGetGraphicsRunningProcesses"
    [answer] = ask(tmp_path, OPENED + f"0\t{key}\t0\tpid=7 used_bytes=N/A;pid=9 used_bytes=4096\n", (key, 0))
    assert answer[2] == "pid=7 used_bytes=N/A;pid=9 used_bytes=4096"


def test_values_advance_with_each_call(tmp_path: Path) -> None:
    rows = (
        OPENED + "0\tDeviceGetTemperature\t0\t83|85|91\n0\tDeviceGetComputeRunningProcesses\t0\tpid=1 used_bytes=5|\n"
    )
    questions = [("DeviceGetTemperature", 0)] * 4 + [("DeviceGetComputeRunningProcesses", 0)] * 2
    texts = [answer[2] for answer in ask(tmp_path, rows, *questions)]
    assert texts == ["83", "85", "91", "91", "pid=1 used_bytes=5", ""]
    recorded = RecordedSource(tmp_path)
    assert [recorded.nvml(*question).text for question in questions] == texts


def test_a_gpu_lost_while_it_is_watched(tmp_path: Path) -> None:
    rows = OPENED + "0\tDeviceGetPowerUsage\t0|0|15\t300000\n"
    questions = [("DeviceGetPowerUsage", 0)] * 3
    answers = [answer[:3] for answer in ask(tmp_path, rows, *questions)]
    assert answers == [("ok", 0, "300000")] * 2 + [("lost", 15, "GPU is lost (NVML_ERROR_GPU_IS_LOST)")]


def test_after_one_hang_everything_is_answered_at_once(tmp_path: Path) -> None:
    rows = OPENED + "0\tDeviceGetName\t0\tX\n0\tDeviceGetTemperature\thang\t\n0\tDeviceGetPowerUsage\t0\t1\n"
    began = time.perf_counter()
    questions = ("DeviceGetName", 0), ("DeviceGetTemperature", 0), ("DeviceGetPowerUsage", 0)
    name, hung, after = ask(tmp_path, rows, *questions, limit_seconds=0.5)
    assert name[:2] == ("ok", 0)
    assert hung[:2] == after[:2] == ("timed_out", None)
    assert 0.5 <= hung[3] < 3
    assert after[3] < 0.1
    assert time.perf_counter() - began < 20, "a hung call kept the process alive"


def test_a_hanging_library_is_noticed_at_its_first_call(tmp_path: Path) -> None:
    init, count = ask(tmp_path, "-\tInit\thang\t\n", ("Init", None), ("DeviceGetCount", None), limit_seconds=0.5)
    assert (init[0], count[0]) == ("timed_out", "timed_out")


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (4, "not_permitted"),
        (9, "failed"),
        (17, "not_permitted"),
        (18, "failed"),
        (77, "failed"),
    ],
)
def test_every_failed_start_is_the_answer_to_everything(code: int, status: str, tmp_path: Path) -> None:
    answers = ask(tmp_path, f"-\tInit\t{code}\t\n", ("Init", None), ("DeviceGetUUID", 0))
    words = f"{return_code(code).words} ({return_code(code).constant})"
    assert [answer[:3] for answer in answers] == [(status, code, words)] * 2


def test_a_gpu_the_machine_does_not_have(tmp_path: Path) -> None:
    [answer] = ask(tmp_path, OPENED, ("DeviceGetName", 5))
    assert answer[:2] == ("failed", 2)


def test_a_driver_without_the_newest_functions(
    fake_machine: Callable[[str], dict[str, str]], recording: Callable[[str], Path], tmp_path: Path
) -> None:
    scenario = recording("healthy_h100_loaded")
    environment = fake_machine(scenario.name) | {"RIGWISE_NVML_LIBRARY": str(fake_library("-DOLD_DRIVER"))}
    command = [sys.executable, asking.__file__, str(scenario), str(tmp_path / "evidence")]
    subprocess.run(command, env=environment, capture_output=True, timeout=60, check=True)
    seen = ask_everything(RecordedSource(tmp_path), scenario)
    expected = ask_everything(RecordedSource(scenario), scenario)
    without_reserved = [re.sub(r" reserved=\d+", "", answer.text) for answer in expected]
    assert [answer.text for answer in seen] == without_reserved


def test_other_nvml_programs_find_the_simulated_gpu(fake_machine: Callable[[str], dict[str, str]]) -> None:
    program = "import pynvml as n; n.nvmlInit(); print(n.nvmlDeviceGetName(n.nvmlDeviceGetHandleByIndex(0)))"
    environment = fake_machine("healthy_rtx4090")
    child = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert child.stdout == "NVIDIA GeForce RTX 4090\n"


def test_the_table_of_calls_names_what_nvidia_ml_py_has() -> None:
    pynvml = pytest.importorskip("pynvml")
    names = [name for call in nvml_calls().values() for name in (*call.functions, *call.arguments)]
    assert [name for name in names if not hasattr(pynvml, name)] == []
