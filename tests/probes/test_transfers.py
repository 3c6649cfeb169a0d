"""The CUDA probe and what is made of its answer, without a GPU."""

import json
import os
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rigwise.probes.gpu.gpus_from_nvml import read_gpu
from rigwise.probes.topology.transfers import PROBE, PROBE_KEY, look_from, read_transfers
from rigwise.records.evidence import Status
from rigwise.records.gpu import Gpu
from rigwise.records.transfers import LookUnderLoad, trial_of
from rigwise.sources.pasted import PastedSource, Pieces
from rigwise.sources.recorded import RecordedSource

FIELDS = ["utilization.gpu", "power.draw", "power.limit", "temperature.gpu", "pcie.link.gen.current"]
ANSWER = {
    "framework": "torch 2.14.1",
    "gpus": [
        {
            "gpu": 0,
            "uuid": "",
            "name": "NVIDIA GeForce RTX 4090",
            "kernel_ok": True,
            "pinned_to_gpu": 25.1,
            "load": None,
        },
        {"gpu": 1, "name": "NVIDIA T400", "skipped": "another process uses it"},
    ],
    "peers": [{"source": 0, "target": 1, "direct": False, "intact": True, "gb_per_second": 11.0}],
}


@pytest.fixture(scope="module")
def probe() -> dict[str, Any]:
    """The names of the script, as `import` would give them."""
    return runpy.run_path(str(PROBE), run_name="cuda_probe")


def gpu_at(recording: Callable[[str], Path], index: int) -> Gpu:
    return read_gpu(RecordedSource(recording("one_of_two_lost")), index)


def run(*arguments: str, **environment: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, *arguments, str(PROBE)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env=environment,
    )
    assert done.stderr == ""
    answer = json.loads(done.stdout.splitlines()[-1])
    assert isinstance(answer, dict)
    return answer


def test_without_torch_it_says_what_it_needs() -> None:
    assert "has no torch" in run("-S", "-I")["error"]


@pytest.mark.slow
def test_without_a_gpu_it_says_so() -> None:
    answer = run(CUDA_VISIBLE_DEVICES="")
    assert answer["framework"].startswith("torch ")
    assert (answer["error"], answer["gpus"], answer["peers"]) == ("no CUDA GPU", [], [])


def test_a_rate_is_per_second_in_its_unit(probe: dict[str, Any]) -> None:
    assert probe["rate"](4 * 128 * 2**20, 0.5, 1e9) == 1.074
    assert probe["rate"](1, 0.0, 1) == 1e9


def test_all_loads_together_are_bounded(probe: dict[str, Any]) -> None:
    shares = [min(probe["LOAD_SECONDS"], probe["ALL_LOADS_SECONDS"] / num_gpus) for num_gpus in (1, 2, 8)]
    assert shares == [10.0, 10.0, 2.5]
    assert probe["LIMIT_SECONDS"] > probe["ALL_LOADS_SECONDS"] + 16 * probe["COPY_SECONDS"]


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [(None, [0, 1]), ("1", [1]), ("1,0", [1, 0]), ("GPU-b", [1]), ("", []), ("0,7,1", [0]), ("GPU-", [])],
)
def test_visible_devices(probe: dict[str, Any], chosen: str | None, expected: list[int]) -> None:
    cards = [{"index": 0, "uuid": "GPU-a1"}, {"index": 1, "uuid": "GPU-b2"}]
    assert [card["index"] for card in probe["visible"](cards, chosen)] == expected


def test_a_gpu_in_use_is_known_by_the_other_process(probe: dict[str, Any]) -> None:
    assert probe["used_by_others"]("GPU-a1, 77\nGPU-b2, 5\n[garbled]\n", own_pid=5) == {"GPU-a1"}
    assert probe["used_by_others"](None, own_pid=5) == set()


def test_a_trial_stops_at_a_gpu_in_use(probe: dict[str, Any]) -> None:
    trial = {"uuid": "GPU-a1"}
    probe["try_gpu"](None, 0, {"utilization": 0}, {"GPU-a1"}, 1.0, trial)
    assert trial["skipped"] == "another process uses it"


def test_what_a_kernel_raises_is_told(probe: dict[str, Any]) -> None:
    def fail(*_size: int, device: str) -> None:
        raise RuntimeError("CUDA error: an illegal memory access was encountered\nmore")

    cuda = SimpleNamespace(mem_get_info=lambda device: (2**34, 2**34), empty_cache=lambda: None)
    trial: dict[str, Any] = {"uuid": "GPU-a1"}
    probe["try_gpu"](SimpleNamespace(cuda=cuda, ones=fail), 0, {}, set(), 1.0, trial)
    assert trial["kernel_ok"] is False
    assert trial["error"] == "RuntimeError: CUDA error: an illegal memory access was encountered"


SMI = """#!/bin/sh
case "$*" in
  *-lms*) while :; do echo "99, 402.10, 450.00, 66, 2700, 3105, 4, 4, 16, 16, 0x0000000000000004"; sleep 0.05; done ;;
  *clocks_event_reasons*) exit 2 ;;
  *clocks_throttle_reasons*) echo 0x0 ;;
  *-q*) echo "        Replays Since Reset                           : 7" ;;
esac
"""
"""An nvidia-smi before driver 535, which does not know the newer name of the clock event reasons."""


@pytest.fixture
def with_nvidia_smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nvidia-smi").write_text(SMI)
    (tmp_path / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture
def cpu_torch() -> SimpleNamespace:
    """The real torch, whose two GPUs are the CPU."""
    import torch

    def on_cpu(make: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *sizes, **named: make(*sizes, **{key: named[key] for key in named if key == "dtype"})

    cuda = SimpleNamespace(synchronize=lambda device: None, can_device_access_peer=lambda one, other: False)
    makers = {name: on_cpu(getattr(torch, name)) for name in ("ones", "empty", "empty_like", "arange")}
    small = SimpleNamespace(half=lambda: torch.ones(8, 8))
    rest = {"randn": lambda *sizes, device: small, "matmul": torch.matmul, "equal": torch.equal}
    return SimpleNamespace(cuda=cuda, uint8=torch.uint8, int32=torch.int32, **makers, **rest)


@pytest.mark.usefixtures("with_nvidia_smi")
def test_a_load_is_looked_at_while_it_lasts(probe: dict[str, Any], cpu_torch: SimpleNamespace) -> None:
    told = probe["load"](cpu_torch, 0, "GPU-a1", 0.5)
    look = look_from(**told["load"])
    assert told["tflops"] > 0
    assert look is not None
    assert len(look.clocks_event_reasons) >= 2
    assert (look.share(0x4), look.pcie_gen, look.pcie_width, look.pcie_replays) == (1.0, 4, 16, 0)


def test_copies_and_a_kernel_are_measured(probe: dict[str, Any], cpu_torch: SimpleNamespace) -> None:
    assert probe["kernel_is_right"](cpu_torch, 0)
    speeds = probe["copy_speeds"](cpu_torch, 0)
    assert set(speeds) == {"pinned_to_gpu", "pinned_from_gpu", "pageable_to_gpu", "pageable_from_gpu"}
    assert all(speed > 0 for speed in speeds.values())


def test_copies_between_gpus_are_compared_with_what_was_sent(probe: dict[str, Any], cpu_torch: SimpleNamespace) -> None:
    known: dict[str, Any] = {"gpus": [{"gpu": 0}, {"gpu": 3}], "peers": []}
    probe["measure_peers"](cpu_torch, [0, 1], known)
    (copy,) = known["peers"]
    assert (copy["source"], copy["target"], copy["direct"], copy["intact"]) == (0, 3, False, True)
    assert copy["gb_per_second"] > 0


def test_samples_become_a_look() -> None:
    look = look_from(2.0, FIELDS, "98, 400.5, 450.00, 66, 1, 0x4\n99, [N/A], 450.00, 67, 4, 0x0\n99, 4", [3, 9])
    assert look == LookUnderLoad(
        seconds=2.0,
        utilization_percent=(98.0, 99.0),
        power_draw_watts=(400.5, None),
        power_limit_watts=450.0,
        temperature_celsius=(66.0, 67.0),
        clocks_event_reasons=(4, 0),
        pcie_gen=4,
        pcie_replays=6,
    )
    assert look.share(0x4) == 0.5


@pytest.mark.parametrize("samples", ["", "No devices were found", "1, 2"])
def test_no_whole_sample_is_no_look(samples: str) -> None:
    assert look_from(2.0, FIELDS, samples) is None


STRANGE = ("", "{}}", "[]", '{"gpus": [1]}', '{"gpus": [{"gpu": 0, "load": {"x": 1}}]}', '{"gpus": 3}', "Killed")


@pytest.mark.parametrize("answer", STRANGE)
def test_a_strange_answer_cannot_be_understood(answer: str) -> None:
    reading = read_transfers(PastedSource("a recording", Pieces({PROBE_KEY: answer})), None)
    assert reading.status is Status.UNREADABLE


def test_trials_are_found_by_index_where_there_is_no_uuid(recording: Callable[[str], Path]) -> None:
    transfers = read_transfers(PastedSource("a recording", Pieces({PROBE_KEY: json.dumps(ANSWER)})), None)
    trial = trial_of(gpu_at(recording, 0), transfers)
    assert trial.need().pinned_to_gpu == 25.1
    assert "pinned_to_gpu: 25.1" in trial.quote.text
    skipped = trial_of(gpu_at(recording, 1), transfers)
    assert (skipped.status, "another process uses it" in skipped.quote.text) == (Status.NOT_SUPPORTED, True)


def test_without_a_gpu_the_reading_says_why() -> None:
    answer = '{"framework": "torch 2.14.1+cpu", "error": "no CUDA GPU", "gpus": [], "peers": []}'
    reading = read_transfers(PastedSource("a recording", Pieces({PROBE_KEY: answer})), None)
    assert (reading.status, "no CUDA GPU" in reading.quote.text) == (Status.NOT_SUPPORTED, True)


def test_a_recording_without_it_was_not_asked() -> None:
    assert read_transfers(PastedSource("a recording", Pieces()), None).status is Status.NOT_RECORDED
