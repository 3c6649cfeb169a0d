"""Fixtures for every test: recordings of machines, simulated machines, and the pictures and captures next door."""

import multiprocessing
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fake_gpu.machine import fake_machine as simulate

from rigwise.train.waiting import sleep_while_waiting

sleep_while_waiting()
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
"""Who starts the tests in the background, or by nohup, ignores these; the programs under test would inherit that."""
multiprocessing.set_forkserver_preload(
    ["torch._dynamo", "torch._subclasses.fake_tensor", "rigwise.train.batch.for_pictures", "rigwise.train.experiment"]
)
"""The fork server takes its list when it starts, and whichever test comes first starts it; names only, no import."""

RECORDINGS = Path(__file__).parent / "recordings"


@pytest.fixture
def recording() -> Callable[[str], Path]:
    """The folder of a recording, by name."""
    return RECORDINGS.joinpath


@pytest.fixture
def fake_machine(tmp_path: Path) -> Callable[[str], dict[str, str]]:
    """The environment in which a child process runs on the machine of a recording, by name."""
    return lambda name: simulate(RECORDINGS / name, tmp_path / f"machine-{name}")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of captures and pictures beside the checkout."""
    folder = Path(os.environ.get("RIGWISE_SHARED") or Path(__file__).resolve().parents[2] / "shared")
    if not folder.is_dir():
        pytest.skip("the captures and pictures (RIGWISE_SHARED, or the folder shared beside the checkout) are not here")
    return folder


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """A function that mounts a disk of so many bytes; needs root."""
    mounted: list[Path] = []

    def mount(size_bytes: int) -> Path:
        place = tmp_path / f"disk{len(mounted)}"
        place.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "tmpfs", str(place)]
        if shutil.which("mount") is None or subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("mounting a small disk is not permitted here")
        mounted.append(place)
        return place

    yield mount
    for place in mounted:
        subprocess.run(["umount", "--lazy", str(place)], check=True)
