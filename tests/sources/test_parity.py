"""A recording, the simulated machine made of it, and a recording of that machine must give the same answers."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from fake_gpu import asking
from fake_gpu.asking import ask_everything, nvml_questions
from fake_gpu.machine import fake_machine

from rigwise.knowledge.nvml_calls import INIT
from rigwise.records.evidence import Evidence, Status
from rigwise.sources.recorded import RecordedSource

RECORDINGS = Path(__file__).parents[1] / "recordings"
SCENARIOS = sorted(folder.name for folder in RECORDINGS.iterdir() if folder.is_dir())
REQUIRED = {
    "driver_library_mismatch",
    "healthy_h100_loaded",
    "healthy_rtx4090",
    "hot_throttling",
    "no_driver",
    "one_of_two_lost",
}


def comparable(answers: list[Evidence]) -> list[tuple[str, Status, str, int | None]]:
    """The answers without when they came and how long they took."""
    return [(answer.origin, answer.status, answer.text, answer.return_code) for answer in answers]


@pytest.fixture(scope="module", params=SCENARIOS)
def machine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, list[Evidence], Path]:
    """A scenario, what the live source says on the simulated machine, and the recording made there."""
    scenario, folder = RECORDINGS / request.param, tmp_path_factory.mktemp(request.param)
    child = subprocess.run(
        [sys.executable, asking.__file__, str(scenario), str(folder / "evidence")],
        env=fake_machine(scenario, folder / "machine"),
        capture_output=True,
        timeout=60,
        check=True,
    )
    return scenario, msgspec.json.decode(child.stdout, type=list[Evidence]), folder / "evidence"


def test_live_on_the_fake_equals_recorded(machine: tuple[Path, list[Evidence], Path]) -> None:
    scenario, live, _recording = machine
    assert comparable(live) == comparable(ask_everything(RecordedSource(scenario), scenario))


def test_what_was_recorded_live_reads_back_equal(machine: tuple[Path, list[Evidence], Path]) -> None:
    scenario, live, recording = machine
    assert comparable(ask_everything(RecordedSource(recording), scenario)) == comparable(live)


def test_live_answers_are_dated_and_timed(machine: tuple[Path, list[Evidence], Path]) -> None:
    _scenario, live, _recording = machine
    assert all(answer.collected_at.endswith("Z") and answer.duration_seconds > 0 for answer in live)


def test_the_required_scenarios_are_here() -> None:
    assert set(SCENARIOS) >= REQUIRED


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_recording_is_complete(name: str, recording: Callable[[str], Path]) -> None:
    """A gap would be `not recorded` in one source and `not supported` in the other."""
    answers = ask_everything(RecordedSource(recording(name)), recording(name))
    assert [answer.origin for answer in answers if answer.status is Status.NOT_RECORDED] == []


@pytest.mark.parametrize(
    ("name", "origin", "status", "code"),
    [
        ("no_driver", "NVML DeviceGetName gpu 0", Status.NOT_FOUND, 12),
        ("driver_library_mismatch", "NVML DeviceGetCount", Status.FAILED, 18),
        ("one_of_two_lost", "NVML DeviceGetTemperature gpu 1", Status.LOST, 15),
        ("one_of_two_lost", "NVML DeviceGetTemperature gpu 0", Status.OK, 0),
        ("healthy_rtx4090", "NVML DeviceGetMigMode gpu 0", Status.NOT_SUPPORTED, 3),
        ("hung_driver", "NVML DeviceGetTemperature gpu 0", Status.TIMED_OUT, None),
        ("hung_driver", "NVML DeviceGetPowerUsage gpu 0", Status.TIMED_OUT, None),
        ("hung_driver", "NVML DeviceGetName gpu 0", Status.OK, 0),
        ("container_without_gpu", "kernel log", Status.NOT_PERMITTED, 1),
        ("no_driver", "$ nvidia-smi", Status.NOT_FOUND, None),
        ("driver_library_mismatch", "$ nvidia-smi", Status.FAILED, 18),
    ],
)
def test_failures_keep_their_cause(
    name: str, origin: str, status: Status, code: int | None, recording: Callable[[str], Path]
) -> None:
    answers = ask_everything(RecordedSource(recording(name)), recording(name))
    [answer] = [answer for answer in answers if answer.origin == origin]
    assert (answer.status, answer.return_code) == (status, code)


def test_nvml_questions_cover_both_gpus(recording: Callable[[str], Path]) -> None:
    questions = nvml_questions(recording("one_of_two_lost"))
    assert (INIT, None) in questions
    assert {gpu for _key, gpu in questions} == {None, 0, 1}
