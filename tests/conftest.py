"""Fixtures for every test: recordings of machines, simulated machines, and the pictures and captures next door."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_gpu.machine import fake_machine as simulate

from rigwise.train.waiting import sleep_while_waiting

sleep_while_waiting()

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
